"""Packet tests: what people write to try a program, and what runs it.

Names for tests, loaded on first use, since pytest imports this package's plugin in every run:

- `P4Switch`, `P4Network`: the types of the fixtures ``p4_switch`` and ``p4_network``, for annotations
- `Meter`: the rates of a meter, to write and to compare; `call`: an action with its parameters, for members of profiles
- `ExpectationFailed`: the program did not do what the test expects; `WrongTest`: the test asks for what cannot be
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from emulator.harness.errors import ExpectationFailed as ExpectationFailed
    from emulator.harness.errors import WrongTest as WrongTest
    from emulator.harness.externs import Meter as Meter
    from emulator.harness.network import P4Network as P4Network
    from emulator.harness.profiles import call as call
    from emulator.harness.switch import P4Switch as P4Switch

__all__ = ["ExpectationFailed", "Meter", "P4Network", "P4Switch", "WrongTest", "call"]

__getattr__ = lazy_exports(
    __name__,
    {
        "ExpectationFailed": "errors", "Meter": "externs", "P4Network": "network", "P4Switch": "switch",
        "WrongTest": "errors", "call": "profiles",
    },
)  # fmt: skip
