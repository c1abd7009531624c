"""The measurements of learners: noisy tables in integers, and estimates from them; one format for all learners.

noisy_tables: releases of a table, the law of their noise, and the estimate of its counts. document: writes and reads
`measured.json`. checks: its verification, of form and of cost. consistency: consistent estimates by generalized least
squares. growing_bins: public bins of a number, in which its tail is counted, too. chosen_buckets: counts that chose
buckets, and are not summed over them. estimates: `consistent.json`, and its verification. foreseen_uses: what noise
alone leaves possible.
certificate: `certificate.json`, a bound on a model's error, and its verification. from_others: noisy tables published
by others. This room is below the learners, which decide what is measured; it needs only numpy, so that verification
and inference can use it.
"""
