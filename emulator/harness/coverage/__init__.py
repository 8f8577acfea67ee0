"""Which parts of P4 programs a run of tests exercised."""
