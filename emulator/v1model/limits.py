"""What bounds the packets that come of one packet: no program makes the switch hang or its memory grow."""

from __future__ import annotations

QUEUE_CAPACITY = 1024
"""Packets that wait to be parsed again, and as many that wait for egress: simple_switch's queue for resubmitted and
recirculated packets has this length; what doesn't fit is dropped, counted."""

REINJECTION_LIMIT = 4096
"""Clones, resubmissions and recirculations that come of one arriving frame, all generations together; bmv2 has no
limit, and a program that recirculates for ever takes all of its time. Some milliseconds of work at most."""

REINJECTION_CELL_BYTES = 16_384
"""Longest frame that is parsed again: the longest of our ports (8,704) and as much again for headers; bmv2 has room for
512 bytes of added headers and dies beyond."""

UNCUT = (1 << 32) - 1
"""More bytes than any frame has: what frames are cut to that nobody cuts."""
