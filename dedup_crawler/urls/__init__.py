"""Reading of single URLs: normal form, key-value map, tokens, templates, and the grammar of a site.

Read ``normal.py`` and ``keyvalue.py`` first, then ``templates.py`` (with the tokens) and ``site_grammar.py`` (with
``path_names.py``). ``page_links.py`` reads the links of a page. Nothing here knows rules, files or the network.
"""
