"""Keys that outlive a release, and what is signed with them.

signing_keys: creates, finds, replaces and revokes keys. trust_file: the trusted keys. signed_record: signs a record and
reads it. dataset_key: recognizes snapshots of a dataset. custodian_key: opens accounts and sets budgets. approver_key:
approves releases. personal_key: the file of either. private_key_file, secret_file: files written once, for one owner.
prefect_encryption: Prefect's own key.

The key of a single release belongs to `stores.vault.custody`.
"""
