"""Keys that outlive a release, and what is signed with them.

signing_keys: made, found, replaced, revoked. trust_file: whose signatures count. signed_record: signs a record, and
reads it back. dataset_key: recognizes snapshots of a dataset. private_key_file, secret_file: written once, for one
owner.
prefect_encryption: Prefect's own key.

The key of one release is for `stores.vault.custody`.
"""
