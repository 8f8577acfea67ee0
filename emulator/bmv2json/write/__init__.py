"""The IR as bmv2's JSON."""

from emulator.bmv2json.write.context import Unwritable
from emulator.bmv2json.write.program import write_json

__all__ = ["Unwritable", "write_json"]
