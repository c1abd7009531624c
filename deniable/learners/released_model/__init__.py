"""The model of an earlier release of the same dataset, which was paid for there; no record is read for it again.

Records that start from seeds are charged by themselves, those of the model alone cost nothing. README.md has the proof.

spec: its entry in a release spec. steps: its step. verification: what a record must state about it.
"""
