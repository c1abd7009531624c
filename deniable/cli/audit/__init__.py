"""Commands that check releases, offline: verify, summary, record, ledger, witness."""
