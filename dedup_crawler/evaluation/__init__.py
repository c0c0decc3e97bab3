"""How well a method does: simulated crawls, the papers' metrics, and the table that compares methods."""
