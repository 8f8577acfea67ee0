"""A live loop in its own thread, in a process that ends by SIGTERM."""

from __future__ import annotations

import os
import signal
import threading
from typing import Protocol


class Runs(Protocol):
    """A loop that serves ports until ``stop``, as ``SwitchRunner``."""

    def run(self) -> object: ...
    def stop(self) -> None: ...


class LiveLoop:
    """Runs a loop; where that ends before ``stop``, by failure or after the last frame of its files, this process gets
    SIGTERM."""

    def __init__(self, runner: Runs) -> None:
        self.failure: BaseException | None = None
        """What ended the loop, if that was an error."""
        self._runner = runner
        self._stopping = False
        self._thread = threading.Thread(target=self._serve, name="netsum-data-plane", daemon=True)

    def start(self) -> None:
        self._thread.start()

    @property
    def thread(self) -> int:
        """The system's number of the loop's thread, once it was started."""
        assert self._thread.native_id is not None, "it was started"
        return self._thread.native_id

    def stop(self) -> None:
        """Returns when the loop has ended; it need not have been started."""
        self._stopping = True
        self._runner.stop()
        if self._thread.ident is not None:
            self._thread.join()

    def _serve(self) -> None:
        try:
            self._runner.run()
        except BaseException as error:
            self.failure = error
        if not self._stopping:
            os.kill(os.getpid(), signal.SIGTERM)
