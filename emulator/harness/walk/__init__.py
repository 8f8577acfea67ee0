"""A packet's walk through a program: what the interpreter did with it, step by step."""
