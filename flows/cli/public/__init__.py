"""Commands that read public files.

select: what a spec must state about a public file.
"""
