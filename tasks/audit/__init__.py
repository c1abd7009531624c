"""Comparisons of an audit and a replay: ledger, records, runs, and the public folder."""
