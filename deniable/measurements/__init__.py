"""What learners measured: noisy tables as integers, and what follows from them; one document for all learners.

noisy_tables: releases of a table, their law of noise, and the estimate of its counts. document: `measured.json`, as it
is written and read. checks: its verification, by form and by what was paid for. consistency: tables that agree with
each other, by generalized least squares. estimates: `consistent.json`, and its verification. signal: which attributes
they say anything about. certificate: `certificate.json`, the bound of a model's error, and its verification.
from_others: noisy tables that others published. Below the learners, which decide what is measured; numpy suffices, so
that verification and inference can use it.
"""
