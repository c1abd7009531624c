"""Steps that write the report, publish, verify the published release, and seal."""
