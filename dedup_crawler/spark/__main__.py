"""``python -m dedup_crawler.spark PATH... --models DIR``: the command ``spark-train`` as a script for spark-submit."""

import runpy
import sys

if __name__ == "__main__":
    if __package__ in (None, ""):
        sys.path.pop(0)  # spark-submit puts this folder there, and its modules are not to be found by their short names
    sys.argv[1:1] = ["spark-train"]
    runpy.run_module("dedup_crawler", run_name="__main__")
