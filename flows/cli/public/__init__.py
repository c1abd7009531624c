"""Commands on files that anyone may read.

select: what a spec must state of a public file.
"""
