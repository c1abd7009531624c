"""Steps that report, publish, verify what was published, and seal."""
