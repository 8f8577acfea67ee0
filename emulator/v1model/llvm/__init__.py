"""v1model for the LLVM engine: externs, hashes and the order of the pipeline."""
