"""Evidence of pages for rules: digests of pages, and the comparer of two pages to which a rule gives one form."""
