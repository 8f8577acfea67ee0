"""The log as bmv2 writes it: form of its lines, levels, rotation, and what each packet met."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
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
SHARE, CREDIT_S = 0.2, 0.5
"""Share of CPU time for logging packets where no level is named: the level is then trace, as in bmv2, and scripts
that always log must not be slowed by it. A packet's lines take some milliseconds."""

packets = logging.getLogger("netsum.packet")


class Formatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("[%(asctime)s.%(msecs)03d] [bmv2] [%(letter)s] [thread %(thread)d] %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        record.letter = LETTERS.get(record.levelno, "I")
        return super().format(record)


def start_logging(options: Options) -> None:
    """Before the switch configures logging, which then keeps this. Raises OSError for a file that cannot be written."""
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
    least = logging.INFO if options.dump_packet_data else logging.DEBUG
    return _asked(options) and LEVELS[options.log_level or "trace"] <= least


class PacketLog:
    """See ``emulator.harness.walk.shadow_run.Reader``."""

    def __init__(self, options: Options, now_s: Callable[[], float] = time.monotonic) -> None:
        self._tells_all = options.log_level is not None
        self._dumped_bytes = options.dump_packet_data
        self._now_s = now_s
        self._number = 0
        self._credit_s, self._asked_s = CREDIT_S, now_s()
        self._left_out = 0

    def wants(self) -> bool:
        now_s = self._now_s()
        self._credit_s = min(self._credit_s + SHARE * (now_s - self._asked_s), CREDIT_S)
        self._asked_s = now_s
        if self._tells_all or self._credit_s > 0:
            return True
        self._left_out += 1
        return False

    def record(self, walk: Walk) -> None:
        from emulator.harness.walk.log import log_lines

        if self._left_out:
            packets.info("%d packets or batches came too fast to be logged (-L trace logs all)", self._left_out)
            self._left_out = 0
        self._dump("Received", walk.port, walk.content)
        for level, text in log_lines(walk):
            packets.log(level, "[%d.0] [cxt 0] %s", self._number, text)
        for left in walk.left:
            self._dump("Sent", left.port, left.content)
        self._number += 1
        self._credit_s -= self._now_s() - self._asked_s

    def _dump(self, what: str, port: int, content: bytes) -> None:
        if self._dumped_bytes:
            shown = content[: self._dumped_bytes].hex(" ")
            packets.info(
                "[%d.0] [cxt 0] %s packet of length %d on port %d: %s", self._number, what, len(content), port, shown
            )
