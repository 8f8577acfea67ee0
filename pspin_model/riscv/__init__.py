"""Handlers in C, run instruction by instruction: real counts, and results that agree with the Python twins'."""
