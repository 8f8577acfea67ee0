"""Tensors to lanes and back: compiled loops over addresses, one chunk at a time. No packets here.

``blocks`` sums of floats, ``classes`` their NaN and Inf, ``floats`` half types, ``ordered`` MIN and MAX of floats,
``integers`` and ``long_integers`` the rest, ``emulator.native`` the instructions that numba does not offer.
"""
