"""Training data, options, folders and answers of models, for all methods.

Read ``folder`` first, then ``training_data`` and ``options``. Nothing here depends on a method.
"""
