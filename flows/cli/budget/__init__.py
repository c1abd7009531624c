"""Commands about the privacy budget; `deniable budget --help`.

set, show, spent, export, checkpoint, verify, prepare, recover. accounts: accounts and charges as lines.
"""
