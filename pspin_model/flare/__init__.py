"""Reductions in the switch after Flare: dense and sparse algorithms, their cost model, and their simulation."""
