"""Training data, options, folders and explanations of models, for all methods.

Read ``folder`` first, then ``method_options`` and ``training_data``. Nothing here depends on a method.
"""
