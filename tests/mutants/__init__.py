"""Deliberate faults in the privacy core, each with the test that must find it."""
