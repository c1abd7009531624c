"""One step of a release a file, named by its verb: read, call the mathematics, write, log."""
