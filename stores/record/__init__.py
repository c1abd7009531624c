"""The provenance record: collected, found again, and compared.

provenance: collects it. record_reader: finds the record of a published release. audit_target: what an auditor compares.
folder_verification: verifies a public folder. found_release: a release as a search shows it. replay_comparison: whether
a replay gave the same.
"""
