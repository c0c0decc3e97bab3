"""Self-driving: a crawl that learns a model from its own pages, in a process beside it, and goes on with it."""
