"""Commands that describe a table of one's own.

schema: drafts a schema from a codebook, and checks how a source fits one. discover: proposes values and ranges, at a
cost. new: the guided start. questions: questions in a terminal, which piped answers can answer, too.
"""
