"""The models of a crawl: found by host, asked without the rules that were switched off, compared and exported.

Read ``live_models.py`` first, then ``model_shelf.py``. How a model is learnt and saved belongs to ``methods/``.
"""
