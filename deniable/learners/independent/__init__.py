"""Independent: a noisy histogram of each attribute, from which values are drawn independently.

DataSynthesizer's independent attribute mode (Ping, Stoyanovich, Howe 2017), but on counts: integer
noise is added to numbers of records, and the number of rows need not be public. A numeric attribute with many values
is counted in bins of equal width over its declared range; within a bin, all values are equally likely.

spec: its entry in a release spec. histograms: bins, noise, probabilities. steps: its steps. verification: the
requirements on its step.
"""
