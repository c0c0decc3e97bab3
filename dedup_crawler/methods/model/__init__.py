"""Training data, options, folders and explanations of models, for all methods.

Read ``folder`` first, then ``training_data`` and ``method_options``. Nothing here depends on a method.
"""
