"""Training data, options, folders and explanations of models, for all methods.

Read ``folder`` first, then ``saved_model`` and ``training_data``. Nothing here depends on a method.
"""
