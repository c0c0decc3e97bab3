"""Which canonical forms a crawl has seen: in memory, in an SQLite file, or in a Redis that several crawlers share."""
