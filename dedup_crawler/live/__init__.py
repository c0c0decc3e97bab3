"""Scrapy components: the add-on, the duplicate filter with its middlewares, and the collector of pages."""
