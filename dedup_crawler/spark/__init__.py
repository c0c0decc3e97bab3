"""Learns the models of many hosts on Apache Spark: pages of any number of files in, a model folder for each host out.

Spark reads files, moves pages to their host and repeats what failed; texts, labels, evidence and rules are made by the
same functions as on one computer, and give the same models byte for byte. A catalogue says what became of each host.

Read ``job.py`` first (the steps in order), then ``inputs.py`` (files to pages, and what is learnt of a large host),
``texts.py`` (pages to texts), ``hosts.py`` (one host to one model; results, and going on after a stop) and
``session.py`` (starting Spark; frames). ``decision_tree_stages.py`` stands alone: the stages of WSDM'10. How pages are
compared and rules learnt does not belong here, and no other folder imports pyspark.
"""

import warnings

MAX_PAGES = 20_000
"""Most pages of a host that are learnt from; a larger host is sampled to about this number."""

# of a part of pyspark that is imported and not used: here pages are batches of Arrow
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
