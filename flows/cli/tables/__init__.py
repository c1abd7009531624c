"""Commands that describe the user's own table.

schema: drafts a schema from a codebook, and checks how a source fits one. discover: proposes values and ranges, at a
cost. new: the guided start. questions: questions in a terminal, or answered by piped lines.
"""
