"""Releases of a dataset: which are unfinished, which snapshot each was made of, which may be published.

resumable_releases: begun and not finished. snapshots: whether what arrives is released already. approval, deciding:
whether a release may be published, and who decided.
"""
