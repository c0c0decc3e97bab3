"""Methods that learn which URLs lead to the same page: one file each, one protocol, one registry."""

from dedup_crawler.methods.base import Canonicalizer, Explanation, Referrer
from dedup_crawler.methods.registry import METHODS, load_model, make_method, method_from_spec

__all__ = ["METHODS", "Canonicalizer", "Explanation", "Referrer", "load_model", "make_method", "method_from_spec"]
