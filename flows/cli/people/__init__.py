"""Commands for the keys of persons: approver_keys, of those who approve releases; custodian_keys, of the custodian."""
