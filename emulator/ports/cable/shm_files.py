"""Files in shared memory that can't be left half made, taken twice or kept by the dead.

Strategy: a file is made without a name (O_TMPFILE), filled, locked and only then linked to its name, so nobody ever
sees it half made. Whoever uses it holds a lock on one byte of it. The locks are Linux's open-file-description locks:
the kernel drops them when the process is gone, kill -9 included, and they work across pid namespaces. So a lock that
can be had proves that its owner is dead, which no pid written into a file can prove."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import struct
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from emulator.native.pages import address_of
from emulator.ports.errors import PortError

PREFIX = "netsum-"
"""Every file of ours in the shared folder starts with it; nothing else is ever removed."""


def _flock(kind: int, byte: int) -> bytes:
    # struct flock of LP64 Linux: short type, short whence, off_t start, off_t length, pid_t
    return struct.pack("hh4xqqi4x", kind, os.SEEK_SET, byte, 1, 0)


def try_lock(descriptor: int, byte: int) -> bool:
    """Take the exclusive lock on a byte; False when another open file description has it."""
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, byte))
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def wait_lock(descriptor: int, byte: int) -> None:
    """Take the exclusive lock on a byte, waiting for it; only for bytes that are held for microseconds."""
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLKW, _flock(fcntl.F_WRLCK, byte))


def unlock(descriptor: int, byte: int) -> None:
    """Give a byte back."""
    fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, byte))


class SharedFile:
    """A mapped file of the shared folder, open in this process.

    ``bytes`` is the whole file as numpy memory at ``address``. A forked child keeps the mapping but not the locks: the
    descriptor is closed there, so that an orphan can't pose as its dead parent.
    """

    def __init__(self, path: Path, descriptor: int) -> None:
        self.path = path
        self.descriptor = descriptor
        # mapped through another description: mmap keeps a duplicate, which would keep the locks after close()
        mapped = os.open(f"/proc/self/fd/{descriptor}", os.O_RDWR | os.O_CLOEXEC)
        self._map = mmap.mmap(mapped, 0)
        os.close(mapped)
        self.bytes: NDArray[np.uint8] = np.frombuffer(self._map, np.uint8)
        self.address = address_of(self.bytes)
        _OPEN.add(self)

    @property
    def is_open(self) -> bool:
        """Whether this process still holds the file; never true in a forked child."""
        return self.descriptor >= 0

    def is_named(self) -> bool:
        """Whether the name still leads to this very file: somebody may have removed or replaced it."""
        try:
            named = os.stat(self.path)
        except FileNotFoundError:
            return False
        own = os.fstat(self.descriptor)
        return (named.st_dev, named.st_ino) == (own.st_dev, own.st_ino)

    def unlink(self) -> None:
        """Remove the name, if it still is this file's."""
        if self.is_named():
            self.path.unlink(missing_ok=True)

    def discard(self, offset: int, size_bytes: int) -> None:
        """Give the memory behind whole pages back to the machine; they read as zeros again."""
        self._map.madvise(mmap.MADV_REMOVE, offset, size_bytes)

    def close(self) -> None:
        """Drop all locks. The memory itself goes when the last array over it does."""
        if self.is_open:
            os.close(self.descriptor)
            self.descriptor = -1


_OPEN: weakref.WeakSet[SharedFile] = weakref.WeakSet()


def _close_in_child() -> None:
    for shared in list(_OPEN):
        shared.close()


os.register_at_fork(after_in_child=_close_in_child)


def create(
    path: Path, size_bytes: int, reserved_bytes: int, prepare: Callable[[SharedFile], None]
) -> SharedFile | None:
    """Make a file of ``size_bytes``, the first ``reserved_bytes`` with memory behind them; None if the name is taken.

    ``prepare`` fills and locks it before anybody else can see it.
    """
    try:
        descriptor = os.open(path.parent, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise PortError(
            f"no shared memory in {path.parent}: {error.strerror}; set NETSUM_SHM to a folder on a tmpfs"
        ) from error
    try:
        os.ftruncate(descriptor, size_bytes)
        reserve(descriptor, 0, reserved_bytes, path.parent)
        shared = SharedFile(path, descriptor)
    except BaseException:
        os.close(descriptor)
        raise
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        prepare(shared)
        # with a dir_fd CPython calls linkat(AT_SYMLINK_FOLLOW), which is what names a file made by O_TMPFILE
        os.link(f"/proc/self/fd/{descriptor}", path.name, dst_dir_fd=folder)
    except FileExistsError:
        shared.close()
        return None
    except BaseException:
        shared.close()
        raise
    finally:
        os.close(folder)
    return shared


def reserve(descriptor: int, offset: int, size_bytes: int, folder: Path) -> None:
    """Put memory behind part of a file now, for without it a later store ends the process with SIGBUS."""
    if size_bytes == 0:
        return
    try:
        os.posix_fallocate(descriptor, offset, size_bytes)
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.ENOMEM):
            raise
        need = f"{size_bytes / 2**20:.1f} MiB"
        raise PortError(
            f"{folder} is full: a port needs {need} of shared memory there; remove what is stale, enlarge it "
            f"(docker: --shm-size) or set NETSUM_SHM to another tmpfs"
        ) from error


def open_existing(path: Path) -> SharedFile | None:
    """Open and map a file that is there; None if it is not."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise PortError(f"cannot open {path}: {error.strerror}; is it another user's?") from error
    if os.fstat(descriptor).st_size == 0:
        os.close(descriptor)
        raise PortError(f"{path} is empty, so not one of our ports; remove it")
    return SharedFile(path, descriptor)
