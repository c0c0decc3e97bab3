"""The models of a crawl: found by host, asked without switched-off rules, learnt beside the crawl, compared, exported.

Read ``live_models.py`` first, then ``learner.py``, which has models learnt by ``learn_job.py`` in its own process. How
a model is learnt and saved belongs to ``methods/``.
"""
