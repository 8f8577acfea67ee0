"""The network: P4 compiler, v1model, switch, P4Runtime server, ports, networks in virtual time, test harness.

For tests of P4 programs (`emulator.harness` documents each name), loaded on first use:

    from emulator import Meter, P4Switch, call
"""

from typing import TYPE_CHECKING

from emulator.native.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from emulator.harness import ExpectationFailed as ExpectationFailed
    from emulator.harness import Meter as Meter
    from emulator.harness import P4Network as P4Network
    from emulator.harness import P4Switch as P4Switch
    from emulator.harness import WrongTest as WrongTest
    from emulator.harness import call as call

__all__ = ["ExpectationFailed", "Meter", "P4Network", "P4Switch", "WrongTest", "call"]

__getattr__ = lazy_exports(__name__, dict.fromkeys(__all__, "harness"))
