"""Sizes that those need too who only read port texts: a module without numba, which takes a second to import."""

from __future__ import annotations

MAX_PORTS = 512
"""v1model's egress_spec has 9 bits."""
