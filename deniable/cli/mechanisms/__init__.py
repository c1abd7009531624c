"""Commands about mechanisms: list."""
