"""Topologies, and links in virtual time: hosts and switches put together without sockets or clocks."""
