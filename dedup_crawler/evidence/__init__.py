"""Evidence of pages for labels and rules: digests of pages, and the comparer of two pages with one form.

Read the digests first (``digests``, with ``site_text``), then the comparer of pages of one crawl (``line_differences``,
``comparing``), that of two fetches of a live crawl (``two_fetches``), and the labels that pages get by text and by
comparison (``labelling``). What a single page says is read in ``labels/``, and rules are learnt in ``rules/learning/``.
"""
