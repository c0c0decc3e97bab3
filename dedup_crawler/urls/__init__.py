"""Reading of URLs: normal form, key-value map, tokens, templates. No page, no file, no network."""
