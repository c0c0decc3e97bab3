"""What pages say about rules: digests of pages, and one comparer of two pages that a rule would make one."""
