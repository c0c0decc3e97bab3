"""The folders of the repository, and of the recorded sites beside it."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CORPORA = ROOT.parent / "shared" / "corpora"
SITES = CORPORA / "sites"
