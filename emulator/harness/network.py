"""Switches and links of one test."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from emulator.harness.errors import WrongTest
from emulator.harness.packet_history import PacketHistory, test_place
from emulator.harness.switch import P4Switch
from emulator.harness.target import Target, Testbed
from emulator.harness.values import duration_ns
from emulator.harness.virtual import Source, VirtualTestbed
from emulator.harness.walk.text import WIDTH
from emulator.p4.library import ProgramNotFound, find_program


class Maker(Testbed, Protocol):
    """A testbed that makes switches and links."""

    @property
    def targets(self) -> Mapping[str, Target]: ...

    def add(self, name: str, source: Source, seed: int) -> Target: ...
    def link(self, one: tuple[str, int], other: tuple[str, int], impairments: str = "") -> None: ...
    def close(self) -> None: ...


class P4Network:
    """``network.switch(...)`` makes switches, ``network.link(...)`` joins them; all share one clock."""

    def __init__(self, testbed: Maker | None = None, *, columns: int | None = None) -> None:
        """``columns``: how wide failures may be."""
        self.testbed: Maker = testbed if testbed is not None else VirtualTestbed()
        self._history = PacketHistory(self.testbed.targets, columns or WIDTH)

    def __repr__(self) -> str:
        return f"<P4Network: {', '.join(self.testbed.targets) or 'no switch yet'}>"

    def switch(
        self,
        program: str | Path,
        name: str | None = None,
        *,
        defines: Mapping[str, Any] | Iterable[str] = (),
        include_paths: Sequence[str | Path] = (),
        seed: int = 0,
    ) -> P4Switch:
        """A new switch that runs the program: a path (as seen from the test's file, else from here), or a shipped one.

        ``defines`` are macros: ``{"SIZE": 4}``, or ``["SIZE=4", "FAST"]``. ``seed`` is what its random numbers start
        from. Raises CompileError, with the place in the program.
        """
        folder = Path(test_place()[0]).parent
        source = Source(
            program_path(program, folder),
            _macros(defines),
            tuple(str(folder / p if (folder / p).is_dir() else p) for p in include_paths),
        )
        chosen = name or (f"s{len(self.testbed.targets) + 1}")
        target: Target = self.testbed.add(chosen, source, seed)
        return P4Switch(target, self.testbed, self._history, source.path)

    def link(
        self,
        one: P4Switch,
        one_port: int,
        other: P4Switch,
        other_port: int,
        *,
        delay: str | int = 0,
        jitter: str | int = 0,
        loss: float = 0,
        duplicate: float = 0,
        reorder: float = 0,
        corrupt: float = 0,
        rate: str = "",
        seed: int = 0,
    ) -> None:
        """A cable between two ports; both directions are alike, ``loss`` and so on are probabilities per frame."""
        settings = {
            "delay": f"{duration_ns(delay)}ns" if delay else "", "jitter": f"{duration_ns(jitter)}ns" if jitter else "",
            "loss": loss, "duplicate": duplicate, "reorder": reorder, "corrupt": corrupt, "rate": rate, "seed": seed,
        }  # fmt: skip
        text = "&".join(f"{name}={value}" for name, value in settings.items() if value)
        self.testbed.link((one.name, one_port), (other.name, other_port), text)

    def advance(self, duration: str | int) -> None:
        """Let (virtual) time go on: ``"5ms"``, or nanoseconds."""
        self.testbed.advance(duration_ns(duration))

    @property
    def now_ns(self) -> int:
        return self.testbed.now_ns

    def last_walk(self) -> str:
        """Walk of the packet sent last, by whatever switch; empty where none was sent, or the target has no walks."""
        targets = list(self.testbed.targets.values())
        if not targets or not self._history.sendings:
            return ""
        view = self._history.view(targets[0], self.testbed)
        return "\n".join((*view.summary_lines(view.last), *view.walk_lines()))

    def close(self) -> None:
        self.testbed.close()


def program_path(program: str | Path, folder: Path) -> str:
    """Absolute. Raises `WrongTest`."""
    sibling = folder / program
    if sibling.is_file():
        return str(sibling.resolve())
    try:
        return str(Path(find_program(str(program))).resolve())
    except ProgramNotFound as error:
        raise WrongTest(f"{error}; looked in {folder} too") from None


def _macros(defines: Mapping[str, Any] | Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Name and text of each; one without a text is 1, as on a compiler's command line."""
    if isinstance(defines, Mapping):
        return tuple((name, str(value)) for name, value in defines.items())
    parts = (text.partition("=") for text in ([defines] if isinstance(defines, str) else defines))
    return tuple((name, value if equals else "1") for name, equals, value in parts)
