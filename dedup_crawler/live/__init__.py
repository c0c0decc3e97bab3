"""What runs inside a live Scrapy crawl: the add-on, the filter and the collector of pages."""
