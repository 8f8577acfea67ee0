"""``netsum pspin``: the model of a PsPIN switch on the command line."""


def mistakes() -> tuple[type[Exception], ...]:
    """What the commands raise for a user's mistake: one line on stderr, and exit status 2."""
    from emulator.sweep import SweepError
    from pspin_model.flare.elements import ElementError
    from pspin_model.handlers import HandlerError
    from pspin_model.machine.config import ConfigError
    from pspin_model.machine.machine import MachineError
    from pspin_model.riscv.toolchain import ToolchainError
    from pspin_model.riscv.twins import TwinError

    return ConfigError, ElementError, HandlerError, MachineError, SweepError, ToolchainError, TwinError
