"""Rules that people wrote down, of ClearURLs and duplicate-url-discarder, as an optional layer in front of a model."""
