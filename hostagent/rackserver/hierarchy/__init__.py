"""Racks of servers: each sums its own workers, then they exchange partial sums. No I/O, no clock."""
