"""The table schemas that ship, one file per dataset."""
