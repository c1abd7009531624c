"""Independent: a noisy histogram of each attribute, and values drawn one by one from these.

DataSynthesizer's independent attribute mode (Ping, Stoyanovich, Howe 2017, section 3.2.2), on counts: noise is added in
integers to numbers of records, and no number of rows has to be public. Numbers of many values are counted in bins of
equal width over their declared range; within a bin all values are equally probable.

spec: its entry of a release spec. histograms: bins, noise, probabilities. steps: what it does. verification: what its
step must do.
"""
