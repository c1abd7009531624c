"""What Deniable costs in seconds and memory, measured side by side in one run."""
