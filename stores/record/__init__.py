"""The provenance record: collected, found and compared.

provenance: collects it. record_reader: finds the record of a published release. discovery_record:
reads that of a discovery. audit_target: the material of an audit.
folder_verification: verifies a public folder. found_release: a release in search results. replay_comparison: whether a
replay gave the same result. rehearsals: kept ones.
"""
