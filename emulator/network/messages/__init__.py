"""Schedules in virtual time, message by message, on links of thousands of nodes."""
