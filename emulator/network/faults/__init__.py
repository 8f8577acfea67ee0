"""Faults of a network as a script: what goes wrong, where and when, in live runs and in virtual time."""
