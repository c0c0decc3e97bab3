"""Labels the pages of a crawl: finds out which of them are the same, and gives each a cluster number.

Read along the path of a page: its text (``main_text``, with ``html``), its lines (``lines``), its decoration
(``layout``, with ``meters``), its hashes (``signatures``), the joins of pages (``joins``, ``clusters``), and the run
over a whole database (``labelling``). ``published`` holds the labellers of the literature. ``evidence/`` compares pages
for rules, and ``evaluation/`` measures how right the labels are.
"""
