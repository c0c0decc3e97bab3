"""Settings of the Scrapy project: polite defaults, and the plugin enabled as in any other project."""

from dedup_crawler import __version__

BOT_NAME = "dedup_crawler"
SPIDER_MODULES = ["spiders"]

ADDONS = {"dedup_crawler.Addon": 500}

# Add an address where the owner of a site can reach you: "dedup_crawler (+https://...)".
USER_AGENT = f"dedup_crawler/{__version__}"
ROBOTSTXT_OBEY = True
# One site per crawl. Requests in flight when the page limit is reached are wasted.
CONCURRENT_REQUESTS = 4
CONCURRENT_REQUESTS_PER_DOMAIN = 4
# A page is one item. Scrapy creates this many tasks per response: its default of 100 costs a quarter of the CPU time.
CONCURRENT_ITEMS = 32
AUTOTHROTTLE_ENABLED = True
AUTOTHROTTLE_START_DELAY = 1.0
AUTOTHROTTLE_TARGET_CONCURRENCY = 2.0
DOWNLOAD_TIMEOUT = 60
# A crawl holds several pages in memory: larger pages fail and count as not fetched.
DOWNLOAD_MAXSIZE = 64 * 1024 * 1024

# Breadth first: pages with many links to them come early, so that a partial crawl covers all of the site.
DEPTH_PRIORITY = 1
SCHEDULER_DISK_QUEUE = "scrapy.squeues.PickleFifoDiskQueue"
SCHEDULER_MEMORY_QUEUE = "scrapy.squeues.FifoMemoryQueue"

LOG_LEVEL = "INFO"
LOGSTATS_INTERVAL = 0  # the spider has its own progress line
TELNETCONSOLE_ENABLED = False  # a crawl opens no port
REMOTE_CONTROL_ENABLED = False
