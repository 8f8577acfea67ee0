"""Priority queue (binary heap) of the packets in egress queues by departure time, as LLVM text of the run-time library.

    ptr netsum_admit(ptr area, ptr queue, i64 rank, i64 now_ns, i64 cell_bytes)
        enqueue: the cell to write the packet to, null where the area is full
    ptr netsum_depart(ptr area, i64 until_ns)
        dequeue: the cell of the first packet that departs until then, null if none; valid until the next call

The area is described in ``emulator.v1model.queue_layout``.
"""

from __future__ import annotations

from emulator.v1model.queue_layout import (
    CELL_QUEUE,
    CELLS,
    DEPARTED,
    ENTERED,
    ENTRY_BYTES,
    FREE,
    HEAP,
    HELD,
    HELD_PACKETS,
    QUEUE_INTERVAL,
    QUEUE_LAST,
    QUEUE_SIZE,
    RANK_SHIFT,
    USED,
)

_SOONER = """
define linkonce_odr hidden i1 @netsum_sooner(ptr %a, ptr %b) alwaysinline {
  %at = load i64, ptr %a
  %bt = load i64, ptr %b
  %ap = getelementptr i8, ptr %a, i64 8
  %bp = getelementptr i8, ptr %b, i64 8
  %an = load i64, ptr %ap
  %bn = load i64, ptr %bp
  %earlier = icmp slt i64 %at, %bt
  %same = icmp eq i64 %at, %bt
  %before = icmp ult i64 %an, %bn
  %first = and i1 %same, %before
  %result = or i1 %earlier, %first
  ret i1 %result
}
"""

_MOVE = f"""
define linkonce_odr hidden void @netsum_move_entry(ptr %to, ptr %from) alwaysinline {{
  call void @llvm.memmove.p0.p0.i64(ptr %to, ptr %from, i64 {ENTRY_BYTES}, i1 false)
  ret void
}}
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
"""

_ADMIT = f"""
define linkonce_odr hidden ptr @netsum_admit(ptr %area, ptr %queue, i64 %rank, i64 %now, i64 %cell_bytes) noinline {{
entry:
  %heap = getelementptr i8, ptr %area, i64 {HEAP}
  %heldp = getelementptr i8, ptr %area, i64 {HELD}
  %held = load i64, ptr %heldp
  %freep = getelementptr i8, ptr %area, i64 {FREE}
  %free = load ptr, ptr %freep
  %none = icmp eq ptr %free, null
  br i1 %none, label %unused, label %again
again:
  %next = load ptr, ptr %free
  store ptr %next, ptr %freep
  br label %found
unused:
  %usedp = getelementptr i8, ptr %area, i64 {USED}
  %used = load i64, ptr %usedp
  %full = icmp uge i64 %used, {HELD_PACKETS}
  br i1 %full, label %refuse, label %new
refuse:
  ret ptr null
new:
  %used1 = add i64 %used, 1
  store i64 %used1, ptr %usedp
  %offset = mul i64 %used, %cell_bytes
  %cells = getelementptr i8, ptr %area, i64 {CELLS}
  %fresh = getelementptr i8, ptr %cells, i64 %offset
  br label %found
found:
  %cell = phi ptr [%free, %again], [%fresh, %new]
  %lastp = getelementptr i8, ptr %queue, i64 {QUEUE_LAST}
  %last = load i64, ptr %lastp
  %intervalp = getelementptr i8, ptr %queue, i64 {QUEUE_INTERVAL}
  %interval = load i64, ptr %intervalp
  %turn = add i64 %last, %interval
  %later = icmp sgt i64 %turn, %now
  %leaves = select i1 %later, i64 %turn, i64 %now
  store i64 %leaves, ptr %lastp
  %sizep = getelementptr i8, ptr %queue, i64 {QUEUE_SIZE}
  %size = load i64, ptr %sizep
  %size1 = add i64 %size, 1
  store i64 %size1, ptr %sizep
  store i64 %leaves, ptr %cell
  %numberp = getelementptr i8, ptr %area, i64 {ENTERED}
  %number = load i64, ptr %numberp
  %number1 = add i64 %number, 1
  store i64 %number1, ptr %numberp
  %held1 = add i64 %held, 1
  store i64 %held1, ptr %heldp
  %high = shl i64 %rank, {RANK_SHIFT}
  %order = or i64 %high, %number
  %spareoffset = mul i64 {HELD_PACKETS}, {ENTRY_BYTES}
  %mine = getelementptr i8, ptr %heap, i64 %spareoffset
  store i64 %leaves, ptr %mine
  %minen = getelementptr i8, ptr %mine, i64 8
  store i64 %order, ptr %minen
  %minec = getelementptr i8, ptr %mine, i64 16
  store ptr %cell, ptr %minec
  br label %up
up:
  %i = phi i64 [%held, %found], [%parent, %lift]
  %ioffset = mul i64 %i, {ENTRY_BYTES}
  %here = getelementptr i8, ptr %heap, i64 %ioffset
  %top = icmp eq i64 %i, 0
  br i1 %top, label %place, label %compare
compare:
  %below = sub i64 %i, 1
  %parent = lshr i64 %below, 1
  %poffset = mul i64 %parent, {ENTRY_BYTES}
  %above = getelementptr i8, ptr %heap, i64 %poffset
  %rises = call i1 @netsum_sooner(ptr %mine, ptr %above)
  br i1 %rises, label %lift, label %place
lift:
  call void @netsum_move_entry(ptr %here, ptr %above)
  br label %up
place:
  call void @netsum_move_entry(ptr %here, ptr %mine)
  ret ptr %cell
}}
"""

_DEPART = f"""
define linkonce_odr hidden ptr @netsum_depart(ptr %area, i64 %until) noinline {{
entry:
  %heap = getelementptr i8, ptr %area, i64 {HEAP}
  %heldp = getelementptr i8, ptr %area, i64 {HELD}
  %held = load i64, ptr %heldp
  %none = icmp eq i64 %held, 0
  br i1 %none, label %nothing, label %some
nothing:
  ret ptr null
some:
  %leaves = load i64, ptr %heap
  %later = icmp sgt i64 %leaves, %until
  br i1 %later, label %nothing, label %take
take:
  %departedp = getelementptr i8, ptr %area, i64 {DEPARTED}
  %before = load ptr, ptr %departedp
  %firstp = getelementptr i8, ptr %heap, i64 16
  %cell = load ptr, ptr %firstp
  store ptr %cell, ptr %departedp
  %nobody = icmp eq ptr %before, null
  br i1 %nobody, label %shrink, label %release
release:
  %freep = getelementptr i8, ptr %area, i64 {FREE}
  %free = load ptr, ptr %freep
  store ptr %free, ptr %before
  store ptr %before, ptr %freep
  br label %shrink
shrink:
  %queuep = getelementptr i8, ptr %cell, i64 {CELL_QUEUE}
  %queue = load ptr, ptr %queuep
  %sizep = getelementptr i8, ptr %queue, i64 {QUEUE_SIZE}
  %size = load i64, ptr %sizep
  %size1 = sub i64 %size, 1
  store i64 %size1, ptr %sizep
  %last = sub i64 %held, 1
  store i64 %last, ptr %heldp
  %lastoffset = mul i64 %last, {ENTRY_BYTES}
  %mine = getelementptr i8, ptr %heap, i64 %lastoffset
  br label %down
down:
  %i = phi i64 [0, %shrink], [%child, %sink]
  %ioffset = mul i64 %i, {ENTRY_BYTES}
  %here = getelementptr i8, ptr %heap, i64 %ioffset
  %double = shl i64 %i, 1
  %left = add i64 %double, 1
  %leaf = icmp uge i64 %left, %last
  br i1 %leaf, label %place, label %choose
choose:
  %right = add i64 %double, 2
  %loffset = mul i64 %left, {ENTRY_BYTES}
  %leftp = getelementptr i8, ptr %heap, i64 %loffset
  %rightp = getelementptr i8, ptr %leftp, i64 {ENTRY_BYTES}
  %two = icmp ult i64 %right, %last
  %rather = call i1 @netsum_sooner(ptr %rightp, ptr %leftp)
  %isright = and i1 %two, %rather
  %child = select i1 %isright, i64 %right, i64 %left
  %childp = select i1 %isright, ptr %rightp, ptr %leftp
  %sinks = call i1 @netsum_sooner(ptr %childp, ptr %mine)
  br i1 %sinks, label %sink, label %place
sink:
  call void @netsum_move_entry(ptr %here, ptr %childp)
  br label %down
place:
  call void @netsum_move_entry(ptr %here, ptr %mine)
  ret ptr %cell
}}
"""

TEXT = _SOONER + _MOVE + _ADMIT + _DEPART
