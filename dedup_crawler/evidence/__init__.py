"""Evidence of pages for rules: digests of pages, and one comparer of two pages that a rule would make one."""
