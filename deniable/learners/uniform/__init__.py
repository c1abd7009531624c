"""Uniform: every declared value as probable as any other; no record is read, and nothing is spent.

DataSynthesizer's random mode (Ping, Stoyanovich, Howe 2017, section 3.2), without what the tool reads of the data for
it: domain, ranges and categories are the declared ones. It says what a release is worth that knows nothing.

spec: its entry of a release spec. steps: what it does. verification: that its steps read nothing.
"""
