"""Labels the pages of a crawl by their text: finds out which are the same, and gives each a cluster number.

Read along the path of a page: its text (``main_text``, with ``html``), its lines (``lines``), its decoration
(``layout``, with ``meters``), its hashes (``signatures``), and the joins of pages (``joins``, ``clusters``).
``published`` holds the labellers of the literature. ``evidence/`` compares pages whose URLs are alike, and runs
everything over a database; ``evaluation/`` measures how right the labels are.
"""
