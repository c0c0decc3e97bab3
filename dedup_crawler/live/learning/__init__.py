"""Self-driving crawls: a background process learns a model from the crawl's own pages, and the crawl uses it."""
