"""The ``simple_switch_CLI`` command: bmv2's runtime commands, interactive or from a file on standard input.

A thin client: the switch's process carries the commands out (`emulator.p4runtime.commands`).
"""

from __future__ import annotations

import argparse
import cmd
import os
import sys
from typing import Any

import grpc

from emulator.p4runtime.commands.service import CommandsClient
from emulator.rpc.tls import ClientTls, TlsError
from hostagent.cli.bmv2.options import DEFAULT_THRIFT_PORT
from hostagent.cli.bmv2.thrift_port import p4runtime_address

NAME = "simple_switch_CLI"
DEFAULT_ADDRESS = "127.0.0.1:9559"
"""Used where no option names a switch and nothing listens on the default Thrift port."""
EXIT_UNREACHABLE = 1


class NoSwitch(Exception):
    """No switch is found; the text says where it was looked for."""


class Prompt(cmd.Cmd):
    """Commands of one switch; `cmd.Cmd` reads lines, with readline where there is a terminal."""

    prompt = "RuntimeCmd: "
    intro = "Control utility for runtime P4 table manipulation"

    def __init__(self, client: Any) -> None:
        super().__init__()
        self._client = client

    def onecmd(self, line: str) -> bool:
        if line == "EOF":
            print()
            return True
        if line.strip() in ("exit", "quit"):
            return True
        if line.startswith("!"):
            os.system(line[1:])
            return False
        if line.strip() and not line.lstrip().startswith("#"):
            output = self._client.run(line)
            if output:
                print(output)
        return False

    def completenames(self, text: str, *_: Any) -> list[str]:
        names: list[str] = self._client.complete(text)
        return [name for name in names if name]

    def completedefault(self, text: str, line: str, begidx: int, endidx: int) -> list[str]:
        """readline cuts words at punctuation, also within a name with dots: what is in front of the cut stays."""
        word = line[:endidx].rpartition(" ")[2]
        front = len(word) - len(text)
        return [name[front:] for name in self._client.complete(line[:endidx]) if name]

    def complete_help(self, text: str, *_: Any) -> list[str]:
        return self.completenames(text)


def main() -> None:
    """Entry point of the script."""
    sys.exit(run(sys.argv[1:]))


def run(words: list[str]) -> int:
    """The exit status: 0 also where commands failed, as bmv2's; 1 where no switch answers."""
    options = _parser().parse_args(words)
    try:
        client = CommandsClient(_address(options), _credentials(options))
        client.complete("")
        Prompt(client).cmdloop()
    except (NoSwitch, TlsError) as error:
        print(f"{NAME}: {error}", file=sys.stderr)
        return EXIT_UNREACHABLE
    except grpc.RpcError as error:
        print(f"{NAME}: {_reason(error)}", file=sys.stderr)
        return EXIT_UNREACHABLE
    except KeyboardInterrupt:
        print()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog=NAME, description="Send bmv2's runtime commands to a switch of netsum.")
    parser.add_argument("--thrift-port", type=int, metavar="N", help="--thrift-port of the switch (default: 9090)")
    parser.add_argument("--thrift-ip", default="127.0.0.1", metavar="HOST", help="host of the switch")
    parser.add_argument("--address", metavar="HOST:PORT", help="P4Runtime server of the switch, in place of the others")
    parser.add_argument("--cacert", metavar="FILE", help="root certificates of a switch with TLS (PEM)")
    parser.add_argument("--cert", metavar="FILE", help="own certificate, for mutual TLS (PEM)")
    parser.add_argument("--private-key", metavar="FILE", help="own private key, for mutual TLS (PEM)")
    parser.add_argument("--json", metavar="FILE", help="accepted, and without effect: the switch knows its program")
    parser.add_argument("--pre", metavar="NAME", help="accepted, and without effect")
    return parser


def _credentials(options: argparse.Namespace) -> Any:
    """Credentials for TLS; None without. Raises TlsError."""
    if options.cacert is None and options.cert is None and options.private_key is None:
        return None
    return ClientTls(options.cacert, options.cert, options.private_key).credentials()


def _address(options: argparse.Namespace) -> str:
    """HOST:PORT of the P4Runtime server. Raises NoSwitch."""
    if options.address is not None:
        return str(options.address)
    port = options.thrift_port if options.thrift_port is not None else DEFAULT_THRIFT_PORT
    try:
        found = p4runtime_address(options.thrift_ip, port)
    except OSError:
        if options.thrift_port is None and options.thrift_ip == "127.0.0.1":
            return DEFAULT_ADDRESS
        raise NoSwitch(
            f"nothing listens on {options.thrift_ip}:{port}: give the --thrift-port that the switch was started with, "
            "or --address HOST:PORT of its P4Runtime server"
        ) from None
    if found is None:
        raise NoSwitch(f"the switch on {options.thrift_ip}:{port} is not netsum's: use the simple_switch_CLI of bmv2")
    return found


def _reason(error: Any) -> str:
    if error.code() == grpc.StatusCode.UNAVAILABLE:
        advice = "give its --thrift-port N, or --address HOST:PORT; with TLS --cacert FILE"
        return f"no switch answers ({error.details()}): {advice}"
    if error.code() == grpc.StatusCode.UNIMPLEMENTED:
        return "this P4Runtime server takes no commands: it is not netsum's"
    return str(error.details())


if __name__ == "__main__":
    main()
