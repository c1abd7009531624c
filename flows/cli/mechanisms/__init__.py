"""Commands about mechanisms: select, which reads a public file; map, the R-U map of a table."""
