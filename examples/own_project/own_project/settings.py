"""Settings of the project; the line about the add-on is all that dedup_crawler asks for."""

BOT_NAME = "own_project"
SPIDER_MODULES = ["own_project.spiders"]
USER_AGENT = "own_project"
ROBOTSTXT_OBEY = True

ADDONS = {"dedup_crawler.Addon": 500}
# DEDUP_COLLECT = "crawl.db"      stores the pages of a crawl, to learn from
# DEDUP_MODEL = "models/forum"    drops the duplicates of the next one

# breadth first: what many pages link to comes early, so that the first part of a crawl shows all of the site
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"
