"""Methods that learn which URLs lead to the same page, under one protocol.

Read ``base`` (the protocol), then any method; ``registry`` finds methods by name. ``verified`` is our own method,
``miners`` holds the methods that differ only in their miner, ``pairs/`` the classifiers of pairs, and ``model/`` model
folders and their options. The rule language and the miners belong to ``rules/``, networks to ``networks/``.
"""

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.explanations import Explanation, Referrer
from dedup_crawler.methods.registry import METHODS, load_model, make_method, method_from_spec

__all__ = ["METHODS", "Canonicalizer", "Explanation", "Referrer", "load_model", "make_method", "method_from_spec"]
