"""A pytest plugin that finds use after free and out-of-bounds access of numpy arrays by compiled code.

Compiled code has addresses of arrays, which keep none alive. With ``-p tests.labs.freed_arrays`` each array has pages
of its own and a guard page behind them; when it is freed they become inaccessible and are not used again. A use after
free, or an access 64 bytes or more beyond the end, is a segmentation fault, and faulthandler names the call. It covers
arrays that the main thread makes, as numpy's allocators are per context (NEP 49). More than 30,000 arrays at a time
end in a MemoryError unless the kernel allows more mappings: ``sysctl -w vm.max_map_count=1000000``.
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
from typing import Any

import numba

from emulator.native.memory import load_i64, store_i64

SET_HANDLER = 304
"""Place of PyDataMem_SetHandler in numpy's table of C functions (numpy/_core/code_generators/numpy_api.py)."""
LINE_BYTES, PAGE_BYTES = 64, mmap.PAGESIZE
PROT_NONE, PROT_ALL = 0, mmap.PROT_READ | mmap.PROT_WRITE
RESERVED, AT_ADDRESS = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000, 0x10
"""The latter two are MAP_NORESERVE and MAP_FIXED."""

njit: Any = numba.njit  # not ours: it caches, and these contain addresses
cfunc: Any = numba.cfunc
Address = ctypes.c_void_p
_libc: Any = ctypes.CDLL(None)
_map, _protect, _copy = _libc.mmap, _libc.mprotect, _libc.memcpy
_map.restype = _copy.restype = ctypes.c_long
_map.argtypes = [*[ctypes.c_long] * 2, *[ctypes.c_int] * 3, ctypes.c_long]
_protect.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_int]
_copy.argtypes = [ctypes.c_long] * 3


@njit
def allocate(size_bytes: int) -> int:
    """A page with the sizes of the pages and of the array, the array's pages, a guard page."""
    lines_bytes = (max(size_bytes, 1) + LINE_BYTES - 1) // LINE_BYTES * LINE_BYTES
    pages_bytes = (lines_bytes + PAGE_BYTES - 1) // PAGE_BYTES * PAGE_BYTES
    first: int = _map(0, pages_bytes + 2 * PAGE_BYTES, PROT_NONE, RESERVED, -1, 0)
    if _protect(first, pages_bytes + PAGE_BYTES, PROT_ALL) != 0:
        return 0  # too many mappings: sysctl vm.max_map_count
    store_i64(first, 0, pages_bytes)
    store_i64(first, 1, size_bytes)
    return first + PAGE_BYTES + pages_bytes - lines_bytes


@njit
def first_page(array: int) -> int:
    return array // PAGE_BYTES * PAGE_BYTES - PAGE_BYTES


@njit
def release(array: int) -> None:
    first = first_page(array)
    _map(first, load_i64(first, 0) + PAGE_BYTES, PROT_NONE, RESERVED | AT_ADDRESS, -1, 0)


# Machine code: numpy frees arrays while an exception is on its way, when no Python can run.


@cfunc("int64(int64, int64)")
def malloc(_context: int, size_bytes: int) -> int:
    return allocate(size_bytes)


@cfunc("int64(int64, int64, int64)")
def calloc(_context: int, count: int, size_bytes: int) -> int:
    return allocate(count * size_bytes)


@cfunc("int64(int64, int64, int64)")
def realloc(_context: int, array: int, size_bytes: int) -> int:
    moved: int = allocate(size_bytes)
    if moved != 0:
        _copy(moved, array, min(size_bytes, load_i64(first_page(array), 1)))
        release(array)
    return moved


@cfunc("void(int64, int64, int64)")
def free(_context: int, array: int, _size_bytes: int) -> None:
    if array != 0:
        release(array)


class Handler(ctypes.Structure):
    """PyDataMem_Handler, with its PyDataMemAllocator."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", Address),
        *((name, Address) for name in ("malloc", "calloc", "realloc", "free")),
    )


HANDLER = Handler(b"freed arrays", 1, None, malloc.address, calloc.address, realloc.address, free.address)
CAPSULE = ctypes.create_string_buffer(b"mem_handler")
"""The name of a handler's capsule, which does not copy it."""


def pytest_configure() -> None:
    numpy_c: Any = importlib.import_module("numpy._core._multiarray_umath")
    python: Any = ctypes.pythonapi
    python.PyCapsule_GetPointer.restype, python.PyCapsule_New.restype = Address, ctypes.py_object
    python.PyCapsule_GetPointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    python.PyCapsule_New.argtypes = [Address, ctypes.c_char_p, Address]
    table = ctypes.cast(python.PyCapsule_GetPointer(numpy_c._ARRAY_API, None), ctypes.POINTER(Address))
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)(table[SET_HANDLER] or 0)
    set_handler(python.PyCapsule_New(ctypes.addressof(HANDLER), CAPSULE, None))
    assert numpy_c.get_handler_name() == HANDLER.name.decode()
