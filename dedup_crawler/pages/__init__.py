"""What was crawled: the store, the import of recordings, and serving a recording as a live site."""
