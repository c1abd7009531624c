"""OpenLineage events of releases while they run.

events: what happens to a release and its steps, in a file of the state folder. receiver: the lineage server that is
configured.
"""
