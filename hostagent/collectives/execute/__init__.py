"""Schedules on live ranks."""
