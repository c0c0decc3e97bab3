"""Tests of the filter: it fetches some would-be drops all the same. State alone, no Scrapy, no clock."""
