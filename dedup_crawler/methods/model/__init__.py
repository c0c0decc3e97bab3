"""Parts and answers of a model: training data, options, the folder on disk, answers, evidence beside it.

Read ``folder`` first, then ``training_data`` and ``options``; the rest as it is needed. No method is known here.
"""
