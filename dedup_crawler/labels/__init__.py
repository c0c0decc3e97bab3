"""From the pages of a crawl to a number each: which of them are the same.

Read along the path of a page: its text (``main_text``, on ``html``), its lines (``lines``,
``arguments``), what of them is decoration (``layout``), what is kept (``signatures``), what joins two pages (``joins``,
``folders``, ``clusters``), and the run over a whole database (``labelling``); ``cosine``
and ``simhash`` are the labellers of the literature. What pages say about rules belongs to ``evidence/``, how right the
labels are to ``evaluation/``.
"""
