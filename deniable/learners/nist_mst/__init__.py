"""NIST-MST: MST whose tables follow from a public file, so that no budget is spent on their selection.

The winner of the 2018 NIST synthetic data challenge, with its selection (McKenna, Miklau, Sheldon 2021). README.md
states the guarantee, which holds only if the file is public, and the differences from the paper.

spec: its entry in a release spec. public_selection: the tables that follow from a public file. steps: its steps.
verification: the requirements on its steps, including that the tables follow from the file's published figures.
"""
