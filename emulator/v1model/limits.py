"""Limits of re-injection and queues: no program makes the switch hang or its memory grow."""

from __future__ import annotations

QUEUE_CAPACITY = 1024
"""Capacity of each of two queues: packets to be parsed again, packets that wait for egress. simple_switch's queue for
resubmitted and recirculated packets has this length; further packets are dropped and counted."""

REINJECTION_LIMIT = 4096
"""Clones, resubmissions and recirculations caused by one arriving frame, all generations together; bmv2 has no limit,
and a program that recirculates for ever takes all of its time. Some milliseconds of work at most."""

REINJECTION_CELL_BYTES = 16_384
"""Longest frame that is parsed again: the longest of our ports (8,704) and the same again for added headers; bmv2 has
room for 512 bytes of added headers and crashes beyond."""

UNCUT = (1 << 32) - 1
"""More bytes than any frame has: the length limit of a frame that is not truncated."""
