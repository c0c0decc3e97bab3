"""A project like any other: it uses dedup_crawler as pip installed it."""
