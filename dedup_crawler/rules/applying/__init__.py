"""Applies learnt rules: gives every link of a crawl its canonical form.

Read ``engine.py`` first; ``reading.py`` runs before the engine and ``new_words.py`` behind it.
Nothing here learns a rule from pages.
"""
