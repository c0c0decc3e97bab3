"""The spiders of the Scrapy project."""
