"""Packet tests: what people write to try a program, and what runs it."""
