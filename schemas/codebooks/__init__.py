"""Codebooks: public descriptions of tables in many formats, read into one form, and written as a schema.

codebook: the common form. value_lists: values, ranges and labels as codebooks write them. csv_codebook, json_metadata
(Frictionless, SDV, dpsynth), ddi_codebook, arff_header, label_syntax (SPSS, Stata), ahrq_codebook: one format each.
statistics_labels: the description in a file of Stata, SPSS or SAS.
reading: finds the format and reads. settling: decides how a schema describes a variable. drafting: writes schema and
spec. proposals: columns that a discovery proposes. sgf_files: the files of SGF, which describe a table and a model.
sgf_drafting: the schema and the spec that follow from them. No table of records is read here.
"""
