"""PsPIN's public examples in our form, and their comparison with the RTL."""
