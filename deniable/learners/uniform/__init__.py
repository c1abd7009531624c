"""Uniform: all declared values are equally likely; no record is read, and no budget is spent.

DataSynthesizer's random mode (Ping, Stoyanovich, Howe 2017, section 3.2). The tool infers domain, ranges and categories
from the data; here they are the declared ones. It is the benchmark of a release that has no information.

spec: its entry in a release spec. steps: its steps. verification: that its steps read nothing.
"""
