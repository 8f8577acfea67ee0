"""Collectives that use the network in special ways."""
