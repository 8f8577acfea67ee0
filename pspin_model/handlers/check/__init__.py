"""Checks of a handler: the subset of Python that it may be written in, and guards that run with it."""
