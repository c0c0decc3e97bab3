"""DustBuster: learns substring and parameter rules from a list of URLs.

Read ``url_list.py`` and ``dust.py`` first, then ``substrings.py``. Nothing here reads a page.
"""
