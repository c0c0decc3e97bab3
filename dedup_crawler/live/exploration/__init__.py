"""What a crawl learns about its own filter by fetching some would-be drops anyway: state alone, no Scrapy, no clock."""
