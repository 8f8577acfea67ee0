"""Racks of servers: each sums its own children, then they exchange partial sums. No I/O, no clock."""
