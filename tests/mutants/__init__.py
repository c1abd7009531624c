"""Deliberate faults in the privacy core and in inference, each with the test that must find it."""
