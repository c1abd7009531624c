"""What may enter and what may leave: table schemas, the release spec, references."""
