"""Settings of the Scrapy project: polite defaults, and the plugin enabled as any other project would enable it."""

from dedup_crawler import __version__

BOT_NAME = "dedup_crawler"
SPIDER_MODULES = ["spiders"]

ADDONS = {"dedup_crawler.Addon": 500}
ITEM_PIPELINES = {"dedup_crawler.live.collecting.collector.StorePipeline": 300}

# Who is asking. Add an address where the owner of a site can reach you: "dedup_crawler (+https://...)".
USER_AGENT = f"dedup_crawler/{__version__}"
ROBOTSTXT_OBEY = True
# One site a crawl. What is in flight when the last page comes in was fetched for nothing.
CONCURRENT_REQUESTS = 4
CONCURRENT_REQUESTS_PER_DOMAIN = 4
# A page is one item. Scrapy makes so many tasks for each response: its usual 100 cost a quarter of a crawl's CPU time.
CONCURRENT_ITEMS = 32
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0
DOWNLOAD_TIMEOUT = 60
# A page is held in memory, a crawl holds several: larger ones fail and count as not fetched.
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024

# Breadth first: what many pages link to comes early, so that a part of a crawl shows all of the site.
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

LOG_LEVEL = "INFO"
LOGSTATS_INTERVAL = 0  # the spider has a progress line of its own
TELNETCONSOLE_ENABLED = False  # a crawl opens no port
REMOTE_CONTROL_ENABLED = False
