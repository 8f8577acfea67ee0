"""What ``netsum compile`` prints, however it came by the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emulator.v1model.summaries import Summary


def parse_defines(definitions: list[str] | None) -> dict[str, str]:
    """``["LANES=256"]`` to ``{"LANES": "256"}``; a bare name is defined as 1, as cpp does."""
    pairs = (text.partition("=") for text in definitions or [])
    return {name: value if separator else "1" for name, separator, value in pairs}


def print_summary(program: str, summary: Summary, seconds: float, as_json: bool) -> None:
    """A line for people, or an object for programs; ``program`` as the user named it."""
    from emulator.p4.errors import counted

    counts: dict[str, Any] = {
        "tables": summary.tables,
        "actions": summary.actions,
        "counters": summary.counters,
        "registers": summary.registers,
        "machine_code_bytes": summary.machine_code_bytes,
        "load_s": round(seconds, 3),
    }
    if as_json:
        print(json.dumps({"program": summary.name, **counts}))
        return
    kinds = ("table", "action", "counter", "register")
    objects = ", ".join(counted(counts[f"{kind}s"], kind) for kind in kinds)
    code = summary.machine_code_bytes / 1024
    print(f"{program}: {objects}; {code:.1f} KiB of machine code, loaded in {seconds:.2f} s")
