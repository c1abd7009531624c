"""Commands that make releases, resume them, decide on them, find them and compare them; `deniable release --help`."""
