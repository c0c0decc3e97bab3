import re
from pathlib import Path

from setuptools import find_packages, setup

_HERE = Path(__file__).resolve().parent
_VERSION = re.search(r'^__version__ = "(.+)"$', (_HERE / "dedup_crawler/__init__.py").read_text("utf-8"), re.MULTILINE)
_LEARN = ["scikit-learn>=1.4", "scipy>=1.11", "simhash>=2.1.2"]

setup(
    name="dedup-crawler",
    version=_VERSION[1],
    description="Learns which URLs of a site lead to the same page, and drops the duplicates of Scrapy crawls",
    long_description=(_HERE / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="MIT",
    license_files=["LICENSE"],
    python_requires=">=3.10",
    packages=find_packages(include=["dedup_crawler", "dedup_crawler.*"]),
    package_data={"dedup_crawler": ["py.typed"], "dedup_crawler.report": ["*.css", "*.jinja"]},
    install_requires=[
        "Scrapy>=2.13",
        "SQLAlchemy>=2.0",
        "click>=8.1",
        "jusText>=3.0.1",
        "lxml_html_clean>=0.4",  # jusText needs it beside lxml 6 and does not say so
        "numpy>=1.26",
        "packaging>=21",
        "Pebble>=5",
        "Protego>=0.3",
        "rich>=13",
        "safetensors>=0.4",
        "warcio>=1.7.5",
        "xxhash>=3.4",
        "zstandard>=0.22",
    ],
    extras_require={
        "learn": _LEARN,
        "train": [*_LEARN, "torch>=2.2"],
        "report": ["Jinja2>=3.1", "matplotlib>=3.8"],
        "redis": ["redis>=5"],
        "postgres": ["psycopg[binary]>=3.1"],
        "spark": ["pandas>=2.2", "pyarrow>=18", "pyspark>=4.1"],
        "static": ["duplicate-url-discarder>=0.3", "google-re2>=1.1"],
        "peers": ["duplicate-url-discarder>=0.3", "duplicate-url-discarder-rules>=2024.11"],
        "test": [
            "hypothesis>=6.100",
            "pandas>=2",
            "playwright>=1.45",
            "pytest>=8",
            "pytest-benchmark>=4",
            "pytest-xdist>=3.6",
            "scrapy-redis>=0.9",
            "setuptools>=77",
        ],
        "lint": ["mypy>=1.10", "ruff>=0.6"],
        "docs": ["mkdocs>=1.6"],
        "release": ["build>=1.2", "twine>=6"],
    },
    entry_points={"console_scripts": ["dedup-crawler = dedup_crawler.__main__:run"]},
    classifiers=[
        "Development Status :: 3 - Alpha",
        "Framework :: Scrapy",
        "Intended Audience :: Developers",
        "Programming Language :: Python :: 3",
        "Topic :: Internet :: WWW/HTTP :: Indexing/Search",
        "Typing :: Typed",
    ],
)
