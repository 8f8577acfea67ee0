"""Plugin of pytest: the memory of a numpy array is gone once the array is, and ends where it ends.

Compiled code has addresses of arrays, which keep none alive. With ``-p tests.labs.freed_arrays`` each array has pages
of its own, which are not used again: where code uses the address of a freed one, or goes 64 bytes beyond its end, that
is a segmentation fault, and faulthandler says which call it was. Of arrays that the main thread makes: numpy's
allocators are per context (NEP 49).
"""

from __future__ import annotations

import ctypes
import importlib
import mmap
from typing import Any

SET_HANDLER = 304
"""Place of PyDataMem_SetHandler in numpy's table of C functions (numpy/_core/code_generators/numpy_api.py)."""
LINE_BYTES = 64
PROT_NONE, MAP_NORESERVE, MAP_FIXED = 0, 0x4000, 0x10
RESERVED = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE

Address, Size = ctypes.c_void_p, ctypes.c_size_t
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype, _libc.mmap.argtypes = Address, [Address, Size, *[ctypes.c_int] * 3, ctypes.c_long]
_libc.mprotect.argtypes = [Address, Size, ctypes.c_int]
_allocated: dict[int, tuple[int, int, int]] = {}
"""Of each array: where its pages begin, their bytes, the array's."""


def allocate(_context: int | None, size_bytes: int) -> int:
    lines_bytes = -(-max(size_bytes, 1) // LINE_BYTES) * LINE_BYTES
    pages_bytes = -(-lines_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
    pages = _libc.mmap(None, pages_bytes + mmap.PAGESIZE, PROT_NONE, RESERVED, -1, 0)
    if _libc.mprotect(pages, pages_bytes, mmap.PROT_READ | mmap.PROT_WRITE):
        return 0  # too many mappings: sysctl vm.max_map_count
    array = int(pages) + pages_bytes - lines_bytes
    _allocated[array] = pages, pages_bytes, size_bytes
    return array


def allocate_zeroed(context: int | None, count: int, size_bytes: int) -> int:
    return allocate(context, count * size_bytes)


def reallocate(context: int | None, array: int, size_bytes: int) -> int:
    moved = allocate(context, size_bytes)
    if moved:
        ctypes.memmove(moved, array, min(size_bytes, _allocated[array][2]))
        free(context, array, 0)
    return moved


def free(_context: int | None, array: int, _size_bytes: int) -> None:
    pages, pages_bytes, _ = _allocated.pop(array)
    _libc.mmap(pages, pages_bytes, PROT_NONE, RESERVED | MAP_FIXED, -1, 0)


FUNCTIONS = {
    "malloc": ctypes.CFUNCTYPE(Address, Address, Size)(allocate),
    "calloc": ctypes.CFUNCTYPE(Address, Address, Size, Size)(allocate_zeroed),
    "realloc": ctypes.CFUNCTYPE(Address, Address, Address, Size)(reallocate),
    "free": ctypes.CFUNCTYPE(None, Address, Address, Size)(free),
}


class Handler(ctypes.Structure):
    """PyDataMem_Handler, with its PyDataMemAllocator."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        ("context", Address),
        *((name, Address) for name in FUNCTIONS),
    )


HANDLER = Handler(b"freed arrays", 1, None, *(ctypes.cast(function, Address) for function in FUNCTIONS.values()))
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
