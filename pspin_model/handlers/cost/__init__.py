"""Costs derived from a handler's source."""
