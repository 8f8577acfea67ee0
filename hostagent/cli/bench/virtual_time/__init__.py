"""Benchmarks in virtual time: jobs on simulated networks."""
