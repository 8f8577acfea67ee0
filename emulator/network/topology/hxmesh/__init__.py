"""HammingMesh: boards of accelerators in a grid, and switches for its rows and columns."""
