"""Commands about mechanisms: select, which reads a public file."""
