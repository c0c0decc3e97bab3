"""Crawls that nobody thought of: a site, its faults and a model are made of a seed, and no page may be lost."""
