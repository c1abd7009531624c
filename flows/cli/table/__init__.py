"""Commands that describe a table; `deniable table --help`.

drafts: the files of a draft. questions: asks a person. drafting: a schema from a codebook.
"""
