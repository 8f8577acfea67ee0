"""Room for programs that nest deeply: else-ifs by the hundred, sums of hundreds of terms.

The compiler follows a program's nesting by recursion, and Python allows a thousand calls within each other. What needs
more is done once again, in a thread with a large stack; what needs still more is refused.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

STACK_BYTES = 512 << 20
"""Only what is touched costs memory."""
DEEP_CALLS = 30_000
"""Sixteen kilobytes of stack for each; some 2,000 else-ifs."""

_here = threading.local()
_lock = threading.RLock()


def is_deep() -> bool:
    """Is this thread one with a large stack? A RecursionError is final then."""
    return getattr(_here, "deep", False)


def with_room(work: Callable[[], T]) -> T:
    """What ``work`` answers or raises; it is called a second time if Python's usual depth was not enough."""
    if is_deep():
        return work()
    try:
        return work()
    except RecursionError:
        pass
    return _deeply(work)


def _deeply(work: Callable[[], T]) -> T:
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        _here.deep = True
        try:
            results.append(work())
        except BaseException as error:  # raised again by the thread that waits
            errors.append(error)

    with _lock:
        calls, stack = sys.getrecursionlimit(), threading.stack_size(STACK_BYTES)
        thread = threading.Thread(target=run, name="deep compilation", daemon=True)
        try:
            sys.setrecursionlimit(max(calls, DEEP_CALLS))
            thread.start()
            thread.join()
        finally:
            threading.stack_size(stack)
            if not thread.is_alive():  # an interrupt leaves it running: a lower limit would end the process
                sys.setrecursionlimit(calls)
    if errors:
        raise errors[0]
    return results[0]
