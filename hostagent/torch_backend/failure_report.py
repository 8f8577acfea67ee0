"""A rank's report of its failure, so that the launcher can name rank and cause instead of an exit code.

torch's launcher names a file for that (TORCHELASTIC_ERROR_FILE), but only scripts with a main function decorated by
``@record`` write it. Under ``netsum run`` an uncaught exception is written for any script.
"""

from __future__ import annotations

import json
import os
import sys
import time
import traceback
from types import TracebackType

ENABLED_BY = "NETSUM_REPORT_FAILURES"
TIME_NS = "time_ns"
"""In addition to torch's time stamp, which has a resolution of seconds, too coarse to order several failures."""


def install() -> None:
    """Write uncaught exceptions of this process to torch's error file, where a launcher asked for it."""
    path = os.environ.get("TORCHELASTIC_ERROR_FILE")
    if not path or not os.environ.get(ENABLED_BY):
        return
    own_pid, show = os.getpid(), sys.excepthook

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        show(kind, error, trace)
        if os.getpid() == own_pid and issubclass(kind, Exception):
            write(path, error, trace)

    sys.excepthook = report


def write(path: str, error: BaseException, trace: TracebackType | None) -> None:
    """The file as torch's ErrorHandler writes it; a failure to write it is ignored."""
    stack = "".join(traceback.format_exception(type(error), error, trace))
    extra = {"py_callstack": stack, "timestamp": str(int(time.time())), TIME_NS: time.time_ns()}
    message = {"message": f"{type(error).__name__}: {error}", "extraInfo": extra}
    try:
        with open(path, "w") as file:
            json.dump({"message": message}, file)
    except OSError as problem:
        print(f"netsum: cannot report the failure to the launcher: {problem}", file=sys.stderr)
