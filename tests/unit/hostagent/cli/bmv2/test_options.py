"""The command line of simple_switch_grpc as people's scripts write it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emulator.harness.walk.events import Walk
from emulator.p4runtime.flavor import PI
from emulator.rpc.tls import ServerTls
from emulator.v1model.compiled import WITH_SOURCE
from hostagent.cli.bmv2.log import PacketLog
from hostagent.cli.bmv2.options import SWITCH, Options, parse
from hostagent.cli.bmv2.simple_switch_grpc import run, switch_options
from hostagent.cli.parsing import UsageError


def of(words: str) -> Options:
    return parse(words.split())


def test_what_a_mininet_script_writes() -> None:
    options = of(
        "-i 1@s1-eth1 -i 2@s1-eth2 --pcap logs --nanolog ipc:///tmp/bm-0-log.ipc --device-id 3 build/p.json "
        "--log-console --thrift-port 9090 -- --grpc-server-addr 0.0.0.0:50051 --cpu-port 255"
    )
    assert (options.program, options.interfaces) == ("build/p.json", {1: "s1-eth1", 2: "s1-eth2"})
    assert (options.pcap_folder, options.device_id, options.cpu_port) == ("logs", 3, 255)
    assert (options.grpc_server_addr, options.log_console) == ("0.0.0.0:50051", True)
    assert len(options.warnings) == 1  # nanolog
    assert options.thrift_port == 9090
    told = switch_options(options)
    assert told.ports == ("1=if:s1-eth1", "2=if:s1-eth2")
    assert (told.program, told.device_id, told.cpu_port) == ("build/p.json", 3, 255)


def test_tls_and_pi() -> None:
    files = "--grpc-server-cacert ca.crt --grpc-server-cert s.crt --grpc-server-key s.key"
    switch = switch_options(of(f"--no-p4 -- --grpc-server-ssl {files} --grpc-server-with-client-auth"))
    assert switch.tls == ServerTls("s.crt", "s.key", "ca.crt", requires_client=True)
    assert switch.flavor is PI
    without = of(f"--no-p4 -- {files}")
    assert switch_options(without).tls is None
    assert "no effect without --grpc-server-ssl" in without.warnings[0]


def test_what_is_not_said_is_as_in_bmv2() -> None:
    options = of("--no-p4")
    assert (options.grpc_server_addr, options.device_id, options.cpu_port) == ("0.0.0.0:9559", 0, None)


@pytest.mark.parametrize(
    ("words", "folder"),
    [
        ("--pcap p.json", "."),
        ("--pcap=there p.json", "there"),
        ("--pcap there p.json", "there"),
        ("p.json --pcap", "."),
        ("--pcap --log-console p.p4", "."),
    ],
)
def test_pcap_with_and_without_a_folder(words: str, folder: str) -> None:
    options = of(words)
    assert options.pcap_folder == folder
    assert options.program in ("p.json", "p.p4")


def test_ports_over_files() -> None:
    options = of("--use-files 2 --interface=4@left p.json -Ldebug")
    assert switch_options(options).ports == ("4=pcap:left_in.pcap,left_out.pcap?start=2s",)
    assert options.log_level == "debug"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "no program"),
        ("a.json b.json", "unexpected argument b.json"),
        ("--no-p4 --frobnicate", "unknown option --frobnicate"),
        ("--no-p4 --log-consol3", "did you mean --log-console"),
        ("--no-p4 -x", "unknown option -x"),
        ("--no-p4 -i eth0", "write PORT@INTERFACE"),
        ("--no-p4 -i 1@a -i 1@b", "port 1 is a already"),
        ("--no-p4 --device-id", "--device-id: expected one argument"),
        ("--no-p4 --device-id -- --cpu-port 3", "--device-id: expected one argument"),
        ("--no-p4 --device-id x", "--device-id: 'x' is not an integer"),
        ("--no-p4 --cpu-port 511", "--cpu-port: 511 is out of range: 1 to 510"),
        ("--no-p4 --drop-port 7", "only 511 can be the drop port"),
        ("--no-p4 --log-console --log-file f", "exclude each other"),
        ("--no-p4 -L loud", "choose from"),
        ("--no-p4 --log-file-max-size 0", "out of range: at least 1"),
        ("--no-p4 --log-f f", "ambiguous option: --log-f could match --log-file, --log-file-max-size"),
        ("--no-p4 --trace-dir d", "--trace-dir: not supported: --log-file shows"),
        ("--no-p4=yes", "--no-p4: takes no value, but has 'yes'"),
        ("--no-p4 --use-files soon", "--use-files: 'soon' is not a number"),
        ("--no-p4 --packet-in ipc:///x", "--packet-in: not supported"),
        ("--no-p4 --grpc-server-ssl", "needs --grpc-server-cert FILE and --grpc-server-key FILE"),
    ],
)
def test_what_is_refused(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match=says):
        of(words)
    assert run(words.split()) == 1
    assert capsys.readouterr().err.startswith("simple_switch_grpc: ")


def test_simple_switch_has_a_thrift_port_and_no_address_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    options = parse(["p.json"], SWITCH)
    assert (options.grpc_server_addr, options.thrift_port) == ("127.0.0.1:0", 9090)
    chosen = parse(["p.json", "--thrift-port", "9091", "--", "--grpc-server-addr", "0.0.0.0:1"], SWITCH)
    assert (chosen.grpc_server_addr, chosen.thrift_port) == ("0.0.0.0:1", 9091)
    with pytest.raises(SystemExit, match="0"):
        run(["--help"], SWITCH)
    assert capsys.readouterr().out.startswith("usage: simple_switch [")
    assert run([], SWITCH) == 1
    assert capsys.readouterr().err.startswith("simple_switch: no program")


@pytest.mark.parametrize(("word", "says"), [("--version", "netsum"), ("--json-version", "2.24")])
def test_questions(word: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([word]) == 0
    assert says in capsys.readouterr().out


def test_a_reader_may_have_seen_enough() -> None:
    """As ``--help | true``."""
    words = [sys.executable, "-m", "hostagent.cli.bmv2.simple_switch_grpc", "--help"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.close()
        assert process.stderr is not None
        assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_long_options_may_be_cut_short() -> None:
    options = of("--no-p --log-con --dev 3 --log-l debug")
    assert (options.no_p4, options.log_console, options.device_id, options.log_level) == (True, True, 3, "debug")


def test_only_some_packets_are_logged_unless_a_level_is_named() -> None:
    now_s = [0.0]
    for words, logged in (("--no-p4 --log-console", 80), ("--no-p4 --log-console -L trace", 200)):
        log = PacketLog(of(words), lambda: now_s[0])
        told = 0
        for _ in range(200):  # one comes each millisecond, and telling takes five
            now_s[0] += 0.001
            if log.wants():
                now_s[0] += 0.005
                log.record(Walk(0, b""))
                told += 1
        assert told == pytest.approx(logged, abs=60)
        assert (told == 200) == (logged == 200)


@pytest.mark.parametrize(
    ("words", "looks"),
    [
        ("--no-p4", False),
        ("--no-p4 --log-console", True),
        ("--no-p4 --log-file f -L debug", True),
        ("--no-p4 --log-console -L info", False),
        ("--no-p4 --log-console -L info --dump-packet-data 9", True),
        ("--no-p4 --log-console -L off", False),
    ],
)
def test_packets_are_looked_at_where_the_log_says_what_they_meet(words: str, looks: bool) -> None:
    assert (switch_options(of(words)).engine == WITH_SOURCE) == looks
