"""Kinds of columns: a module each, whose function describes a column of a table; `schemas.table` combines them.

description: all that a schema states about a column, and the checks that follow; soundness: its faults. names:
nominal and ordered columns. booleans, numbers (on a grid), dates, durations. identifiers: columns that are never
released. open_columns: columns that are not described yet. missing: missing values that are values. values: what
files can hold.

The source's contents become values of a column by public rules alone: rounding, clipping, groups of codes, periods of
dates, a word for missing values. No part of a description is ever learnt from data.
"""
