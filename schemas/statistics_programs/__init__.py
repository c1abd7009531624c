"""Files of Stata, SPSS and SAS: what they say about their columns. No record is read here.

description: names, types, labels, codes for missing values. times: how the programs count days and seconds.
"""
