"""Uniform: all declared values are equally likely; no record is read, and no budget is spent.

DataSynthesizer's random mode (Ping, Stoyanovich, Howe 2017). The tool infers domain, ranges and categories
from the data; here they are declared. It is the benchmark for a release without information.

spec: its entry in a release spec. steps: its steps. verification: its steps read nothing.
"""
