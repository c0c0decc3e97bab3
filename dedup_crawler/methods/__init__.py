"""Methods that learn which URLs lead to the same page, under one protocol.

Read ``base`` (the protocol), then any method: the ``registry`` knows them by name. Those that only differ in their
miner share ``miners``; ours is ``verified/``. ``model/`` holds what a model is on disk and in words, ``pairs/`` the
classifiers of pairs. The rule language and what miners compute belong to ``rules/``, networks to ``networks/``.
"""

from dedup_crawler.methods.base import Canonicalizer
from dedup_crawler.methods.model.answers import Explanation, Referrer
from dedup_crawler.methods.registry import METHODS, load_model, make_method, method_from_spec

__all__ = ["METHODS", "Canonicalizer", "Explanation", "Referrer", "load_model", "make_method", "method_from_spec"]
