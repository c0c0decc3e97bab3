"""Invented crawls: a site, its faults and a model are generated from a seed, and no page may be lost."""
