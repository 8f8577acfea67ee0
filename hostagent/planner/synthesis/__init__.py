"""Collectives synthesized for a topology and a communication sketch, as schedules."""
