"""The memory of services: what a tenant keeps in the server, and the served operations of its job.

A service's memory is one arena that only grows. All of it is written by the cores: a key's record by the home core of
the service's job, its chunks by the cores that own them. Counters that several cores move are moved atomically.

Weights and optimizer state are double-buffered. A chunk's valid version is the newest that is not newer than the
service's last completed step; a step writes the other one. So a step is committed by one store (``step``), and an
interrupted step has no effect.
"""

from __future__ import annotations

import numpy as np

from emulator.native.memory import record_at
from hostagent.rackserver.records import integers

MAX_KEYS = 1 << 16
MAX_BUFFERS = 4
"""Weights and three state tensors."""
OPERATIONS = 1024
"""Entries of the hash table of open operations; a power of two."""
PROBES = 8
"""Entries that are probed for one hash."""
JOBS_KEPT = 7
"""Jobs stored in a service's lineage, see ``hierarchy.training_lineage``."""
LINEAGE_WORDS = 2 + 2 * JOBS_KEPT

SERVICE = np.dtype(
    [
        *integers("address", "server", "lanes", "cores", "home", "workers", "workers_log2"),
        *integers("first_slot", "window"),
        *integers("step", "open_step", "keys_of_step", "split", "pushed_keys", "applied_keys", "decision"),
        *integers("skipped", "not_finite", "keys_known", "release", "revertible", "over_quota", "incomplete"),
        *integers("open_not_finite", "last_not_finite", "next_skipped", "next_not_finite"),
        *integers("age", "apart", "gives", "receives", "own_bit", "rack", "begun"),
        *integers("own_draw", "draw", "maker", "maker_before", "staged_age", "elected"),
        ("lineage", np.int64, LINEAGE_WORDS),
        ("staged", np.int64, LINEAGE_WORDS),
        *integers("arena", "arena_used", "arena_bytes", "wanted", "common", "keys", "listed", "operations", "loads"),
        ("scale", np.float64),
        ("norm", np.float64),
    ],
    align=True,
)
"""step          number of the last completed step
open_step     the step in progress, or -1
split         its gradients are pushed first, and decided on (PUSH and PULL)
pushed_keys, applied_keys   keys whose gradient is in, and whose weights have been stepped, in the open step
decision      of a split step: UNDECIDED, STEPS or SKIPS
release       not 0: withheld results may go
begun         operations so far, and so the number of the last
over_quota    operations refused as the memory does not hold them
skipped, not_finite   skipped steps, and chunks of gradients that were not finite, up to the last completed step
open_not_finite, last_not_finite   such chunks of the open step, and of the last completed one
incomplete    a run of WRITEs has begun and not ended
revertible    the last change was a step made of pushes and the next has not begun, so that the previous version still
              exists; 2: the step was skipped
age           number of changes, see ``hierarchy.resync``
apart         the racks' servers have different ages (APART) or different trainings (CONFLICT)
gives         this server sends its weights and state to others
own_bit       the lowest bit of this rack's children
receives      weights and state from another rack are being written into the versions that are not valid; with the last,
              the counters become ``next_skipped`` and ``next_not_finite``
own_draw, draw   see ``hierarchy.training_lineage``: this rack's number for its job, and the one agreed on
maker, maker_before   the draw of the job that made this age, and of the job that made the one before
lineage       the jobs that the service took part in
staged_age, staged, elected   age and lineage of the newest server, and the rack that sends the lineage
wanted        bytes that the operation being opened takes, or would take
common        address of two numbers: bytes available to all services together, and bytes in use
keys, listed  KEY records by number; numbers of the known keys, in the order of their first WRITE
loads         bytes that each core owns, over all services
scale, norm   of the last decision: what gradients are multiplied by; the norm over all keys
"""
UNDECIDED, STEPS, SKIPS = 0, 1, 2
ALONE, TAKES, HAS, GIVES = 0, 1, 2, 3
"""A rack's part in an operation: the same as without other racks; in a WRITE with SHARE: it receives the data, has them
already, or sends them."""
APART, CONFLICT = 1, 2

KEY = np.dtype(
    [
        *integers(
            "number", "elements", "chunks", "groups", "group", "block_log2", "listed", "written", "updates", "stepped"
        ),
        *integers("states", "born", "next_updates", "next_states", "address_of_buffers"),
        ("buffers", np.int64, 2 * MAX_BUFFERS),
        *integers("versions", "owners", "exponents", "gradient", "squares", "pushes"),
        *integers("pushed_step", "pushed_chunks", "applied_chunks", "groups_done", "tail", "tail_groups"),
        *integers("optimizer", "flags", "divisor", "first"),
        *[
            (name, np.float32)
            for name in ("lr", "momentum", "fresh", "beta2", "fresh2", "eps", "decay", "keep", "rescale", "step_size")
        ],
        ("correction", np.float32),
        ("max_norm", np.float64),
    ],
    align=True,
)
"""buffers      addresses of the two versions of weights, then of each state tensor; 0 where there is none
written      the weights have been written once: the key can be used
stepped      the last step that counts in updates
states       state tensors; born: the step that begins, or began, them
next_updates, next_states   in a service that receives: those of the words that come
versions     int64 for each version and chunk: the step that made it, or -1, or TRANSFERRED
owners       uint8 for each block: its core
exponents    int16 for each chunk, then for each of the tail, then int32 for the numbers of flagged chunks
gradient     float32 of the open step; for chunks that are not finite only NaN and infinities, else 0, until the tail
squares      float64 for each chunk: sum of the gradient's squares
pushes       int64 for each chunk: the last step whose gradient was taken, so that a replay is not taken again
first        the state begins with the open step: momentum starts as the gradient
the rest     terms of the open step; ``fresh`` is 1 - beta1 or 1 - dampening, ``fresh2`` 1 - beta2, ``keep`` 1 - lr *
             decay (AdamW), ``step_size`` -lr over the first bias correction, ``correction`` the root of the second
"""

OPERATION = np.dtype(
    [
        *integers("address", "hash", "number", "first", "action", "key", "buffer", "step", "left", "updates", "more"),
        *integers("part", "age"),
    ],
    align=True,
)
"""A served operation with data, from its announcement on; ``left`` data chunks are not complete. ``age``: the service's
after a run of WRITEs that ends with it."""

TRANSFERRED = 1 << 62
"""The version of a chunk received from another rack's server, until all have arrived."""

service_at = record_at(SERVICE)
key_at = record_at(KEY)
operation_at = record_at(OPERATION)
KEY_BYTES, OPERATION_BYTES = KEY.itemsize, OPERATION.itemsize
assert KEY.fields is not None
BUFFERS_AT = int(KEY.fields["buffers"][1])
