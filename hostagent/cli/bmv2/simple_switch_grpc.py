"""The ``simple_switch_grpc`` and ``simple_switch`` commands: netsum's switch behind the command lines of bmv2's.

Mininet scripts find it by its name in PATH, so that nothing else in them needs to change.
"""

from __future__ import annotations

import functools
import logging
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from hostagent.cli.bmv2.log import PacketLog, logs_packets, start_logging
from hostagent.cli.bmv2.options import GRPC_SWITCH, SWITCH, Options, parse
from hostagent.cli.parsing import UsageError, say

if TYPE_CHECKING:
    from emulator.p4runtime.process import SwitchOptions
    from emulator.rpc.tls import ServerTls

log = logging.getLogger("netsum.switch")
EARLY_S = 4.0
"""Scripts wait ten seconds for a port that listens, and look twice a second. A switch whose loops and program have been
compiled before is ready sooner, and then listens only when it is."""
USAGE_ERROR = 1
"""As bmv2's own exit status for an option that it does not know."""


def main() -> None:
    """Entry point of the script."""
    _end(GRPC_SWITCH)


def simple_switch() -> None:
    """Entry point of the script of that name."""
    _end(SWITCH)


def _end(name: str) -> NoReturn:
    # numba looks for BLAS and loads scipy.linalg for it: a sixth of the time to start, and no loop here needs it
    sys.modules["scipy.linalg.cython_blas"] = None  # type: ignore[assignment]
    sys.exit(run(sys.argv[1:], name))


def run(words: list[str], name: str = GRPC_SWITCH) -> int:
    """Run until SIGTERM or SIGINT; the exit status."""
    try:
        options = parse(words, name)
    except UsageError as error:
        print(f"{name}: {error}", file=sys.stderr)
        return USAGE_ERROR
    if options.asks is not None:
        say(_answer(options.asks))
        return 0
    for warning in options.warnings:
        print(f"{name}: warning: {warning}", file=sys.stderr)
    try:
        start_logging(options)
    except OSError as error:
        print(f"{name}: --log-file {options.log_file}: {error.strerror}", file=sys.stderr)
        return USAGE_ERROR
    return _serve(options, name)


def _serve(options: Options, name: str) -> int:
    from emulator.native.gc_pause import gc_paused
    from emulator.p4runtime.listen_before_ready import EarlyListening, Listening

    with ExitStack() as stack:
        listens_for_thrift = functools.cache(lambda address: _listen(options.thrift_port, address, stack, name))
        early = EarlyListening(EARLY_S, listens_for_thrift) if options.program is not None else EarlyListening(0.0)
        listening = stack.enter_context(Listening(options.grpc_server_addr, early, _tls(options)))
        with gc_paused():
            from emulator.p4runtime.process import run_switch
            from emulator.ports.interface.tap import Tap

        def ready(running: Any) -> None:
            for number, interface in options.interfaces.items():
                log.info("Adding interface %s as port %d", interface, number)
            log.info("Program: %s", options.program or "none yet, waiting for P4Runtime")
            if options.pcap_folder is not None and options.use_files_s is None:
                for interface in options.interfaces.values():
                    stack.enter_context(Tap(interface, options.pcap_folder))
            listens_for_thrift(running.server.address)
            print(f"Server listening on {running.server.address}", flush=True)

        return run_switch(switch_options(options), name=name, ready=ready, listening=listening)


def _listen(port: int | None, address: str, stack: ExitStack, name: str) -> None:
    """Last of all: scripts take it for the sign that the switch is ready. ``address``: of the P4Runtime server."""
    if port is None:
        return
    from hostagent.cli.bmv2.thrift_port import ThriftPort

    try:
        stack.enter_context(ThriftPort(port, address))
    except OSError as error:
        print(f"{name}: warning: --thrift-port {port}: {error.strerror}", file=sys.stderr)


def switch_options(options: Options) -> SwitchOptions:
    """The same options for ``netsum switch``."""
    from emulator.p4runtime.flavor import PI
    from emulator.p4runtime.process import SwitchOptions

    looked_into: dict[str, Any] = {}
    if logs_packets(options):
        from emulator.harness.walk.shadow_run import WatchedSwitch
        from emulator.v1model.compiled import WITH_SOURCE

        reader = PacketLog(options)
        looked_into = {"engine": WITH_SOURCE, "make_switch": lambda: WatchedSwitch(reader)}
    return SwitchOptions(
        program=options.program,
        ports=tuple(_port(options, number, name) for number, name in options.interfaces.items()),
        grpc_server_addr=options.grpc_server_addr,
        device_id=options.device_id,
        cpu_port=options.cpu_port,
        priority_queues=options.priority_queues,
        flavor=PI,
        translation=Path(options.translation) if options.translation is not None else None,
        tls=_tls(options),
        quiet=True,
        **looked_into,
    )


def _tls(options: Options) -> ServerTls | None:
    from emulator.rpc.tls import ServerTls

    files = options.tls
    if "ssl" not in files:
        return None
    return ServerTls(files["cert"], files["key"], files.get("cacert"), "with-client-auth" in files)


def _port(options: Options, number: int, name: str) -> str:
    if options.use_files_s is None:
        return f"{number}=if:{name}"
    return f"{number}=pcap:{name}_in.pcap,{name}_out.pcap?start={options.use_files_s:g}s"


def _answer(what: str) -> str:
    if what == "json-version":
        from emulator.bmv2json.document import VERSION

        return f"{VERSION[0]}.{VERSION[1]}"
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"netsum {version('netsum')}"
    except PackageNotFoundError:
        return "netsum"


if __name__ == "__main__":
    main()
