"""Commands that describe the user's own table.

drafts: a schema and a spec as two files, written both or neither. schema: drafts them from a codebook, and checks how a
source fits one. import_sgf: makes them from the files of SGF. discover: proposes values and ranges, at a cost. new: the
guided start. questions: questions in a terminal, or answered by piped lines.
"""
