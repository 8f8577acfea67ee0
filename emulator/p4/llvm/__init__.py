"""The fast engine: IR to machine code through LLVM."""
