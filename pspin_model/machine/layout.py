"""The shape of the simulated machine's state: columns of int64 tables that compiled code and Python share.

Every table is a plain two-dimensional int64 array with one row per thing, so that compiled code reads it without
objects and Python looks at it without copies. Times are cycles since the start; -1 means "none" in every column that
names a row.
"""

from __future__ import annotations

from typing import Any


class _Columns:
    """Hands out column numbers in order: one place to add a column."""

    def __init__(self) -> None:
        self.count = 0

    def take(self, count: int = 1) -> int:
        first = self.count
        self.count += count
        return first


# --- one row per core ("HPU"): what its handler and the engine say to each other -----------------------------------
_h = _Columns()
H_ENGINE_SP = _h.take()  # stack pointer of the engine while the handler runs
H_SP = _h.take()  # stack pointer of the suspended handler
H_STACK = _h.take()  # address just above the core's stack
H_CODE = _h.take()  # machine code of the handler to run
H_OP = _h.take()  # what the handler asked for: OP_*
H_ARGS = _h.take(7)  # its arguments
H_RESULT = _h.take()  # the engine's answer
H_PENDING = _h.take()  # cycles charged since the last point of order
H_ACCESSES = _h.take()  # L1 accesses charged since then
H_FAR_ACCESSES = _h.take()  # accesses to L2 charged since then
H_INSTRUCTIONS = _h.take()  # instructions charged since then
H_TOTAL_INSTRUCTIONS = _h.take()
H_START = _h.take()  # first cycle of the handler
H_SEGMENT = _h.take()  # cycle at which the handler was last resumed
H_SEGMENT_END = _h.take()  # cycle at which that piece of it ends
H_LIMIT = _h.take()  # cycles left before the handler counts as never returning
H_TICKS = _h.take()  # turns of while loops left before it does
H_FAULT = _h.take()  # FAULT_* of the handler, with H_FAULT_VALUE
H_FAULT_VALUE = _h.take()
H_EXCEPTION = _h.take(2)  # address and size of the pickled exception
H_CORE = _h.take()
H_CLUSTER = _h.take()
H_PLACE = _h.take()  # number within the cluster
H_CORES_PER_CLUSTER = _h.take()
H_CLUSTERS = _h.take()
H_CONTEXT = _h.take()
H_KIND = _h.take()  # KIND_* of the task
H_PACKET = _h.take()  # row of the packet
H_PACKET_ADDRESS = _h.take()  # its copy in L1
H_PACKET_L2 = _h.take()
H_PACKET_BYTES = _h.take()
H_MESSAGE = _h.take()
H_HOME = _h.take()
H_TAG = _h.take()
H_SOURCE = _h.take()
H_SCRATCH = _h.take()  # the context's scratchpads: first address, bytes in each cluster
H_SCRATCH_BYTES = _h.take()
H_HANDLER_MEMORY = _h.take()
H_HANDLER_MEMORY_BYTES = _h.take()
H_HOST = _h.take()
H_HOST_BYTES = _h.take()
H_LOCK_BASE = _h.take()
H_LOCKS = _h.take()
H_COSTS = _h.take()  # address of the cost table
H_STATE = _h.take()  # CORE_*
H_FREE_AT = _h.take()  # first cycle at which the core takes a task
H_USED = _h.take()  # whether it has run one
H_FEEDBACK = _h.take()  # packet whose feedback waits for its commands, or -1
H_LEAVING = _h.take()  # since which cycle that feedback asks the cluster's arbiter to leave, or -1
H_STALE = _h.take()  # handle of a command that waits for a feedback as given to the core, or -1
H_OPEN = _h.take()  # commands and copies of that packet (or of the running handler) not yet done
H_NEXT = _h.take()  # next core in a list of waiting ones
H_WAIT = _h.take()  # what a stopped handler waits for: WAIT_*
H_WAIT_ON = _h.take()
H_RECORD = _h.take()  # row of the running task's record
H_ASKED = _h.take()  # cycle at which it missed the line that it waits for, or -1
H_LINES = _h.take()  # instruction cache lines of this run already passed
H_HELD = _h.take()  # locks held
H_BUSY = _h.take()  # cycles spent in handlers
H_ENTRY = _h.take()  # first function on its stack
H_SINCE = _h.take()  # cycle at which it began to wait
H_FETCHED = _h.take()  # cycles that the segment waited for code
H_CHARGED = _h.take()  # cycles that the segment takes without waiting
H_FIRST_LINE = _h.take()  # first line of code that the segment comes to
H_LAST_LINE = _h.take()  # and the one behind its last
H_STALLED = _h.take()  # whether this segment's bank conflicts were counted
H_COLUMNS = _h.count

CORE_IDLE, CORE_RUNNING, CORE_STALLED = 0, 1, 2
WAIT_NONE, WAIT_FEEDBACK, WAIT_SLOT, WAIT_COMMAND, WAIT_LOCK = range(5)

(OP_END, OP_YIELD, OP_LOCK, OP_TRY_LOCK, OP_UNLOCK, OP_READ_LOCK, OP_READ_UNLOCK, OP_ATOMIC, OP_SEND, OP_TO_HOST,
 OP_FROM_HOST, OP_HOST_WORD, OP_WAIT, OP_TEST, OP_COPY, OP_COPY_WAIT, OP_COPY_TEST, OP_FAULT) = range(18)  # fmt: skip

KIND_HEADER, KIND_PAYLOAD, KIND_COMPLETION = 0, 1, 2

(FAULT_NONE, FAULT_EXCEPTION, FAULT_MEMORY, FAULT_NEVER_RETURNS, FAULT_LOCK_HELD, FAULT_LOCK_WAIT, FAULT_BAD_LOCK,
 FAULT_NOT_HOLDER, FAULT_BAD_COMMAND, FAULT_HANDLER, FAULT_BAD_CHARGE, FAULT_NO_PRICE, FAULT_TURNS, FAULT_NO_CLUSTER,
 FAULT_STRIDED) = range(15)  # fmt: skip

# --- one row per cluster --------------------------------------------------------------------------------------------
_l = _Columns()
L_OCCUPANCY = _l.take()  # tasks the scheduler counts here
L_FREE_BYTES = _l.take()  # of the L1 packet buffer
L_COPY_AT = _l.take()  # when the next copy into this cluster may start
L_COPY_SLOT = _l.take()  # which of its copies in flight is the oldest: a row of `copy_slots`
L_BUSY = _l.take()  # cores running
L_DISPATCHING = _l.take()  # cycle of the pending dispatch event, or -1
L_TASKS = _l.take()  # tasks seen
L_BURST = _l.take(3)  # command whose beats go through the port for commands into this L1, by engine, or -1
L_GATHER = _l.take()  # cycle at which its cores' commands are looked at, or -1
L_TURN = _l.take()  # grants of the arbiter of its cores' commands
L_CHOSEN = _l.take()  # place of the core that arbiter has chosen, waiting for room, or -1
L_CHOSEN_AT = _l.take()  # cycle of that choice: who asks later is not seen until it is served
L_COMMAND_TAKEN = _l.take()  # cycle at which a command last left its register at the unit
L_COLLECT = _l.take()  # cycle at which its cores' feedback is looked at, or -1
L_COLLECT_TURN = _l.take()  # grants of the arbiter of its cores' feedback
L_COLLECT_CHOSEN = _l.take()  # place of the core that arbiter has chosen, waiting for room, or -1
L_COLLECT_CHOSEN_AT = _l.take()  # cycle of that choice
L_FEEDBACK_TAKEN = _l.take()  # cycle at which a feedback last left its register at the scheduler
L_CODE_AT = _l.take()  # cycle at which its unit for lines of code looks for a request, or -1
L_CODE_TURN = _l.take()  # grants of that unit's arbiter
L_STREAM = _l.take()  # next row of its list of streams
L_LANDING = _l.take()  # first of its copies that land in L1: a row of `landings`
L_LANDING_COUNT = _l.take()  # how many they are
L_LANDING_FROM = _l.take()  # cycle of that copy's first beat
L_TURNS = _l.take()  # next row of its list of `turns`
L_TURNS_SINCE = _l.take()  # since when reads and writes of commands take turns at its L1, or -1
L_COLUMNS = _l.count

# --- one row per packet in flight -----------------------------------------------------------------------------------
_p = _Columns()
P_CONTEXT = _p.take()
P_MESSAGE = _p.take()
P_BYTES = _p.take()
P_TAG = _p.take()
P_SOURCE = _p.take()
P_LAST = _p.take()
P_FIRST_CORE = _p.take()
P_CORES = _p.take()  # 0: any
P_ARRIVAL = _p.take()
P_REQUEST = _p.take()
P_NEXT = _p.take()  # next in its message queue
P_KIND = _p.take()
P_CLUSTER = _p.take()
P_L1_SLOT = _p.take()
P_RECORD = _p.take()  # row of its running task's record
P_RELEASE = _p.take()  # whether the feedback frees the packet
P_NUMBER = _p.take()  # running number since the start
P_BEAT = _p.take()  # number of its first beat in L2, counted since the start
P_LEAVES = _p.take()  # cycle from which its feedback may leave the cluster
P_COLUMNS = _p.count

# --- one row per message queue --------------------------------------------------------------------------------------
_q = _Columns()
Q_STATE = _q.take()
Q_HEAD = _q.take()
Q_TAIL = _q.take()
Q_LENGTH = _q.take()  # packets whose payload handler is still to be given
Q_IN_FLIGHT = _q.take()
Q_COUNT = _q.take()  # packets in the list, the retained last one included
Q_COMPLETION = _q.take()
Q_LISTED = _q.take()  # 1 while in the ring of ready queues
Q_COLUMNS = _q.count

FREE, HEADER, HEADER_RUNNING, PAYLOAD, DRAINING, COMPLETION, COMPLETION_RUNNING = range(7)

# --- contexts, locks, commands --------------------------------------------------------------------------------------
_x = _Columns()
X_CODE = _x.take(3)  # machine code of the header, payload, completion handler, 0: none
X_LINES = _x.take(3)  # instruction cache lines of each
X_LINE = _x.take(3)  # number of the first line
X_SCRATCH = _x.take()
X_SCRATCH_BYTES = _x.take()
X_HANDLER_MEMORY = _x.take()
X_HANDLER_MEMORY_BYTES = _x.take()
X_HOST = _x.take()
X_HOST_BYTES = _x.take()
X_LOCK_BASE = _x.take()
X_LOCKS = _x.take()
X_COLUMNS = _x.count

_k = _Columns()
K_STATE = _k.take()  # 0 free, n readers, -1 written
K_HOLDER = _k.take()
K_HEAD = _k.take()
K_TAIL = _k.take()
K_COLUMNS = _k.count

_d = _Columns()
D_KIND = _d.take()  # OP_* or -1: free
D_TARGET = _d.take()  # address (host: offset)
D_SOURCE = _d.take()
D_BYTES = _d.take()
D_CLUSTER = _d.take()  # cluster of the L1 it accesses, -1: L2
D_TAG = _d.take()
D_PORT = _d.take()
D_CORE = _d.take()
D_SENT = _d.take()  # row of `sent`
D_CONTEXT = _d.take()
D_READY = _d.take()  # cycle at which it reaches the next place on its way
D_BEAT = _d.take()  # number of the first beat it reads in L2
D_LEFT = _d.take()  # beats still to pass its L1, times SHARES
D_SINCE = _d.take()  # cycle of that count
D_SPEED = _d.take()  # of these, how many a cycle as things are
D_END = _d.take()  # cycle at which its last beat passes as things are, or -1
D_COLUMNS = _d.count

N_SUBJECT, N_START, N_LENGTH, N_COLUMNS = range(4)
"""Columns of a copy that lands: packet's or command's row, first cycle at which a beat could, beats."""

# --- records --------------------------------------------------------------------------------------------------------
RECORD = (
    "message", "tag", "source", "context", "cluster", "core", "kind", "arrival", "request", "task", "accept", "copied",
    "dispatch", "start", "end", "doorbell", "feedback", "instructions", "bytes", "fault", "packet", "released",
)  # fmt: skip
(T_MESSAGE, T_TAG, T_SOURCE, T_CONTEXT, T_CLUSTER, T_CORE, T_KIND, T_ARRIVAL, T_REQUEST, T_TASK, T_ACCEPT, T_COPIED,
 T_DISPATCH, T_START, T_END, T_DOORBELL, T_FEEDBACK, T_INSTRUCTIONS, T_BYTES, T_FAULT, T_PACKET, T_RELEASED,
 T_COLUMNS) = range(23)  # fmt: skip
SENT = ("cycle", "port", "tag", "message", "core", "offset", "bytes", "context")
S_CYCLE, S_PORT, S_TAG, S_MESSAGE, S_CORE, S_OFFSET, S_BYTES, S_CONTEXT, S_COLUMNS = range(9)
HOST_WRITES = ("cycle", "context", "offset", "value")
FAULTS = ("kind", "value", "context", "task", "message", "packet", "core", "cycle", "exception", "exception_bytes")
F_COLUMNS = len(FAULTS)
INJECTED = ("context", "message", "bytes", "tag", "source", "last", "first_core", "cores", "at", "offset")
(I_CONTEXT, I_MESSAGE, I_BYTES, I_TAG, I_SOURCE, I_LAST, I_FIRST_CORE, I_CORES, I_AT, I_OFFSET, I_COLUMNS) = range(11)

# --- the machine ----------------------------------------------------------------------------------------------------
_g = _Columns()
G_NOW = _g.take()
G_EVENTS = _g.take()
G_INJECTED = _g.take()  # next row of `injected`
G_INJECTABLE = _g.take()
G_FREE_PACKETS = _g.take()  # rows on the stack of free packets
G_L2_BYTES = _g.take()  # in use
G_INGEST_HEAD = _g.take()  # packets taken up and not yet written, the first being written
G_INGEST_TAIL = _g.take()
G_INGEST_DEBT = _g.take()  # cycles by which reads of L2 hold the next write back
G_INGEST_COUNT = _g.take()  # how many they are
G_INGEST_SINCE = _g.take()  # cycle at which the first of them began to be written
G_INGEST_BEATS = _g.take()  # beats that packets have taken in L2 since the start
G_INGEST_CYCLES = _g.take()  # cycles that the last one written took
G_WRITTEN = _g.take()  # cycle at which it was written
G_L2_SLOT = _g.take()  # cycle at which a read of L2 last passed between requests to write there
G_L2_WAITING = _g.take()  # whether a read of L2 waits for that
G_LAST_ARRIVAL = _g.take()
G_ARRIVING = _g.take()  # 1 while an arrival event is pending
G_STALL_HEAD = _g.take()  # requests waiting for a cell
G_STALL_TAIL = _g.take()
G_CELLS = _g.take()  # shared cells in use
G_READY_HEAD = _g.take()
G_READY_COUNT = _g.take()
G_READY_TURN = _g.take()  # grants of the queues' arbiter
G_READY_CHOSEN = _g.take()  # whether it has chosen the first queue of the ring
G_TICK = _g.take()  # cycle of the pending scheduler event, or -1
G_TICKED = _g.take()  # cycle of the last task
G_PORT_AT = _g.take()  # when the L2 to L1 port is free
G_PORT_EVENT = _g.take()
G_PORT_CHOSEN = _g.take()  # cluster that its arbiter has chosen, waiting for a copy to end, or -1
G_PORT_NEXT = _g.take()  # turn after that choice
G_PORT_TURN = _g.take()
G_COPIES = _g.take()  # copies waiting
G_RECORDS = _g.take()
G_SENT = _g.take()
G_SENT_BYTES = _g.take()
G_HOST_WRITES = _g.take()
G_FAULTS = _g.take()
G_IN_FLIGHT = _g.take(3)  # commands, by interface
G_ISSUE_AT = _g.take(3)  # cycle of the pending issue event, or -1
G_ISSUE_TURN = _g.take(3)  # grants of the interfaces' arbiters
G_ISSUE_CHOSEN = _g.take(3)  # cluster they have chosen, waiting for room, or -1
G_ISSUE_CHOSEN_AT = _g.take(3)  # cycle of that choice
G_ENGINE_AT = _g.take(3)  # cycle at which an engine looks for a burst to begin, or -1
G_ENGINE_FREE = _g.take(3)  # first cycle at which its next burst may begin
G_ENGINE_CLUSTER = _g.take(3)  # whose L1 its last burst went through
G_ENGINE_BURSTS = _g.take(3)  # bursts in progress
G_BURST_END = _g.take(3)  # cycle after the last beat of its last burst
G_GRANTED = _g.take(3)  # commands whose request has been let through and whose burst has not begun
G_GRANT_CLUSTER = _g.take(3)  # cluster of the L1 of the last request let through
G_PATH_AT = _g.take()  # cycle at which the way of requests to the L1s is looked at, or -1
G_PATH_READ = _g.take()  # engine with a request to read on that path, or -1
G_PATH_WRITE = _g.take()  # whether a request to write does
G_PATH_NEXT = _g.take()  # engine whose request to read is next, or -1
G_PATH_LAST = _g.take()  # engine whose request to read was last
G_HOST_WORD_FREE = _g.take()
G_FEEDBACK_AT = _g.take()  # cycle of the pending feedback event, or -1
G_FEEDBACK_TURN = _g.take()  # grants of the arbiter of the clusters' feedback
G_ACTIVE = _g.take()  # packets in flight
G_STALLS = _g.take()  # cycles requests waited for cells
G_NUMBER = _g.take()
G_WAITERS = _g.take()  # cores waiting for locks
G_FAR_FREE = _g.take()  # first cycle at which the cores' way to L2 takes another access
G_CODE_FREE = _g.take()  # first cycle at which the port of all code takes a line
G_WATCH = _g.take()
G_L2_PEAK = _g.take()
G_COLUMNS = _g.count

NETWORK, HOST_DMA, HOST_WORD = 0, 1, 2
"""Interfaces of the command unit."""
SENDS, HOST_WRITES_OUT, HOST_READS_IN = 0, 1, 2
"""Engines behind them that move beats: to the network, to the host, from the host."""


TABLES = {
    "g": (G_COLUMNS,), "conf": (0,), "costs": (0,), "heap": (0,), "cores": (0, H_COLUMNS),
    "clusters": (0, L_COLUMNS), "packets": (0, P_COLUMNS), "free_packets": (0,), "queues": (0, Q_COLUMNS),
    "ready": (0,), "contexts": (0, X_COLUMNS), "locks": (0, K_COLUMNS), "commands": (0, D_COLUMNS),
    "copy_fifo": (0, 0), "copy_span": (0, 2), "copy_slots": (0, 0), "ready_fifo": (0, 0), "ready_span": (0, 2),
    "command_fifo": (0, 0),
    "command_span": (0, 2), "unit_fifo": (0, 0), "unit_span": (0, 2), "engine_fifo": (0, 0), "engine_span": (0, 2),
    "feedback_fifo": (0, 0), "feedback_span": (0, 2),
    "slots": (0, 0), "slot_count": (0,), "streams": (0, 0, 2), "landings": (0, 0, N_COLUMNS), "turns": (0, 0, 2),
    "tags": (0, 0), "lines": (0, 0), "refills": (0, 0),
    "injected": (0, I_COLUMNS), "injected_data": (0,), "l2": (0, 0), "l1": (0, 0, 0),
    "records": (0, T_COLUMNS), "sent": (0, S_COLUMNS), "sent_data": (0,), "host_writes": (0, 4),
    "faults": (0, F_COLUMNS),
}  # fmt: skip
"""The tables of a machine's state and their shapes, 0: as configured."""

BYTE_TABLES = frozenset({"injected_data", "l2", "l1", "sent_data"})
"""Tables of bytes; all others hold int64."""

State = Any
"""In compiled code, what `state.state_at` returns: its attributes are the tables."""
