"""The log as bmv2 writes it: form of its lines, levels, rotation, and what each packet met."""

from __future__ import annotations

import logging
import sys
import time
from logging.handlers import RotatingFileHandler
from typing import TYPE_CHECKING

from hostagent.cli.bmv2.options import Options

if TYPE_CHECKING:
    from emulator.harness.walk.events import Walk

TRACE = 5
"""As in ``emulator.harness.walk.log``, which is not loaded where packets are not logged."""
LEVELS = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "error": logging.ERROR,
    "off": logging.CRITICAL + 1,
}
LOG_ENDING = ".txt"
"""What bmv2 puts behind the name of a log file; scripts look for it there."""
LETTERS = {TRACE: "T", logging.DEBUG: "D", logging.INFO: "I", logging.WARNING: "W", logging.ERROR: "E"}
PER_SECOND = 100
"""Packets that are logged where no level is named: the level is then trace, as in bmv2, and scripts that always log
must not be slowed by it. A packet's lines take about two milliseconds."""

packets = logging.getLogger("netsum.packet")


class Formatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("[%(asctime)s.%(msecs)03d] [bmv2] [%(letter)s] [thread %(thread)d] %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.letter = LETTERS.get(record.levelno, "I")
        return super().format(record)


def start_logging(options: Options) -> None:
    """Before the switch sets up its own, which then stands back. Raises OSError for a file that cannot be written."""
    handler: logging.Handler = logging.StreamHandler(sys.stdout if options.log_console else sys.stderr)
    if options.log_file is not None:
        handler = _file(options, options.log_file)
    handler.setFormatter(Formatter())
    logging.getLogger().addHandler(handler)
    # other libraries' chatter is not the switch's
    logging.getLogger("netsum").setLevel(LEVELS[options.log_level or "trace"] if _asked(options) else logging.WARNING)


def _file(options: Options, name: str) -> logging.Handler:
    handler = RotatingFileHandler(
        name + LOG_ENDING, maxBytes=options.log_file_max_bytes, backupCount=options.log_file_max_files
    )
    handler.namer = lambda path: f"{name}.{path.rpartition('.')[2]}{LOG_ENDING}"
    return handler


def _asked(options: Options) -> bool:
    return options.log_console or options.log_file is not None


def logs_packets(options: Options) -> bool:
    return _asked(options) and LEVELS[options.log_level or "trace"] <= logging.DEBUG


class PacketLog:
    """See ``emulator.harness.walk.beside.Reader``."""

    def __init__(self, options: Options) -> None:
        self._most = None if options.log_level is not None else PER_SECOND
        self._dumped_bytes = options.dump_packet_data
        self._number = 0
        self._second = 0
        self._told = self._left_out = 0
        """In that second."""

    def wants(self) -> bool:
        if self._most is None:
            return True
        second = time.monotonic_ns() // 1_000_000_000
        if second != self._second:
            self._close_second()
            self._second = second
        if self._told < self._most:
            self._told += 1
            return True
        self._left_out += 1
        return False

    def _close_second(self) -> None:
        if self._left_out:
            packets.info(
                "Packets came faster than they can be logged: some are left out (-L trace logs all, and slows)"
            )
        self._told = self._left_out = 0

    def tell(self, walk: Walk) -> None:
        from emulator.harness.walk.log import log_lines

        for index, (level, text) in enumerate(log_lines(walk)):
            packets.log(level, "[%d.0] [cxt 0] %s", self._number, text)
            if index == 0 and self._dumped_bytes:
                packets.debug("[%d.0] [cxt 0] Packet data: %s", self._number, walk.content[: self._dumped_bytes].hex())
        self._number += 1
