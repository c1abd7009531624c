"""The table schemas that ship, one dataset a file."""
