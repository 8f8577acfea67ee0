"""The pieces of starting and ending a run that need no processes: names, causes, refusals, findings."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from torch._C._distributed_c10d import Backend, HashStore

from hostagent.launch import doctor, launcher, rank_launcher
from hostagent.launch.processes import RESTARTS, LaunchError, Service
from hostagent.torch_backend import creation, failure_report
from hostagent.torch_backend.creation import agree_on_name, controller_address, create_group
from hostagent.torch_backend.errors import NetsumError, RefusedError
from hostagent.transport.session.reach import Unreachable, check_reachable


def options(size: int = 1) -> SimpleNamespace:
    """Of the default group."""
    return SimpleNamespace(
        store=HashStore(),
        group_rank=0,
        group_size=size,
        timeout=timedelta(seconds=0.1),
        group_id="0",
        global_ranks_in_group=[],
    )


def test_a_group_of_one_needs_no_controller(monkeypatch):
    monkeypatch.delenv("NETSUM_CONTROLLER", raising=False)
    assert create_group(options(), None).barrier().wait()


def test_without_a_controller_the_error_says_how_to_get_one(monkeypatch):
    monkeypatch.delenv("NETSUM_CONTROLLER", raising=False)
    with pytest.raises(NetsumError, match=r"netsum run -n N SCRIPT.*NETSUM_CONTROLLER=HOST:PORT"):
        create_group(options(2), None)


def test_ranks_that_do_not_come_to_the_default_group_are_named(monkeypatch):
    closed: list[bool] = []
    channel = SimpleNamespace(close=lambda: closed.append(True))
    monkeypatch.setattr(creation, "_open_channel", lambda *_: channel)
    said = r"Timed out: rank 0 waited 0.1 s for 3 ranks to call init_process_group, and rank 1 and 2 did not"
    with pytest.raises(NetsumError, match=said):
        create_group(options(3), None)
    assert closed == [True]


@pytest.mark.parametrize("address", ["localhost", ":80", "host:port"])
def test_a_controller_address_must_be_host_and_port(monkeypatch, address):
    monkeypatch.setenv("NETSUM_CONTROLLER", address)
    with pytest.raises(NetsumError, match="expected HOST:PORT"):
        controller_address()


def test_options_of_another_backend_are_refused():
    with pytest.raises(RefusedError, match=r"pg_options must be None or .*Options, got Options"):
        create_group(options(), Backend.Options("gloo"))


def test_members_agree_on_a_name_that_is_unique_to_the_group():
    store = HashStore()
    first = [agree_on_name(store, "0", rank) for rank in range(3)]
    second = [agree_on_name(store, "0", rank) for rank in (2, 0, 1)]
    assert len(set(first)) == len(set(second)) == 1
    assert first[0] != second[0]


def test_a_rank_that_begins_again_early_does_not_join_the_old_group():
    store = HashStore()
    early = [agree_on_name(store, "0", 0), agree_on_name(store, "0", 0)]
    late = [agree_on_name(store, "0", 1), agree_on_name(store, "0", 1)]
    assert early == late


@dataclass
class Failure:
    exitcode: int
    text: str = ""
    at_ns: int = 0
    pid: int = 7
    error_file_data: dict[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        self.timestamp = self.at_ns // 1_000_000_000
        extra = {"timestamp": str(self.timestamp), failure_report.TIME_NS: self.at_ns}
        self.error_file_data = {"message": {"message": self.text, "extraInfo": extra} if self.text else "<NONE>"}


@pytest.mark.parametrize(
    ("failures", "culprit"),
    [
        ({0: Failure(1, "NetsumError: rank 1 died", 5), 1: Failure(1, "ValueError: x", 6)}, 1),
        ({0: Failure(1, "NetsumError: rank 1 died", 5), 1: Failure(-9, at_ns=3 * 10**9)}, 1),
        ({0: Failure(1, "NetsumError: rank 1 is stopped", 5), 1: Failure(-9, at_ns=36 * 10**9)}, 0),
        ({0: Failure(1, "NetsumError: rank 1 did not join", 10**9 + 5), 1: Failure(-15, at_ns=10**9)}, 0),
        ({0: Failure(-15), 1: Failure(1, "ValueError: x", 10**12)}, 1),
        ({0: Failure(1, "KeyError: 2", 6), 1: Failure(1, "ValueError: x", 5)}, 1),
        ({0: Failure(1, "RefusedError: no float64", 6), 1: Failure(1, "NetsumError: rank 0 left", 7)}, 0),
    ],
)
def test_the_rank_that_brought_the_others_down_is_the_one_named(capsys, failures, culprit):
    code = rank_launcher._report(SimpleNamespace(failures=failures))
    said = capsys.readouterr().err
    assert said.startswith(f"netsum run: rank {culprit} ")
    assert "1 other rank(s) failed after it" in said
    assert code == (137 if failures[culprit].exitcode == -9 else 1)


def test_a_stopped_rank_is_the_cause_whatever_ended_it(capsys):
    failures = {0: Failure(1, "NetsumError: rank 1 is stopped", 5), 1: Failure(-15, at_ns=10**9, pid=8)}
    assert rank_launcher._report(SimpleNamespace(failures=failures), stopped={8}) == 128 + 15
    assert capsys.readouterr().err.startswith("netsum run: rank 1 was stopped (process 8, SIGSTOP) and did not go on")


def test_an_uncaught_exception_is_written_for_the_launcher(tmp_path, monkeypatch):
    path = tmp_path / "error.json"
    monkeypatch.setenv("TORCHELASTIC_ERROR_FILE", str(path))
    monkeypatch.setenv(failure_report.ENABLED_BY, "1")
    shown = []
    monkeypatch.setattr(sys, "excepthook", lambda *what: shown.append(what))
    failure_report.install()
    sys.excepthook(KeyError, KeyError("key"), None)
    assert json.loads(path.read_text())["message"]["message"] == "KeyError: 'key'"
    assert len(shown) == 1


def test_a_service_that_does_not_start_is_quoted(tmp_path):
    program = "import sys; print('the reason', file=sys.stderr); sys.exit(3)"
    service = Service("switch", tmp_path / "log", lambda ready: [sys.executable, "-c", program])
    service.start()
    with pytest.raises(LaunchError, match=r"the switch ended with exit code 3:\n    the reason"):
        service.wait_ready()


def test_a_service_keeps_its_address_and_restarts_are_limited(tmp_path):
    program = "import json, sys; print(json.dumps({'given': sys.argv[1], 'address': 'a'}), flush=True)"
    line = [sys.executable, "-c", program]
    service = Service("switch", tmp_path / "log", lambda ready: [*line, ready.get("address", "any")])
    service.start()
    assert service.wait_ready()["given"] == "any"
    assert service.restart() == "ended with exit code 0"
    assert service.wait_ready()["given"] == "a"
    for _ in range(RESTARTS - 1):
        service.restart()
    with pytest.raises(LaunchError, match="times in a minute"):
        service.restart()
    service.stop()


def test_a_service_that_was_told_something_is_not_asked_again_however_late_it_ends(tmp_path):
    """Its starts of more than a minute ago are forgotten then."""
    program = "import json, sys; print(json.dumps({'told': sys.stdin.readline()}), flush=True)"
    service = Service("controller", tmp_path / "log", lambda ready: [sys.executable, "-c", program], told_later=True)
    service.start()
    service.send_line("an address")
    assert service.wait_ready()["told"] == "an address\n"
    service.starts.clear()
    service.restart()
    assert service.process is not None
    assert service.process.stdin is None
    service.stop()


KILLED = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
STAYS = "import json, time; print(json.dumps({'address': 'a'}), flush=True); time.sleep(600)"


def test_an_ended_service_is_reported_with_its_latest_output(tmp_path):
    programs = iter(["print('first reason', file=sys.stderr); sys.exit(3)", "sys.exit(4)", "pass"])
    service = Service("switch", tmp_path / "log", lambda ready: [sys.executable, "-c", f"import sys; {next(programs)}"])
    service.start()
    assert service.restart() == "ended with exit code 3 (first reason)"
    assert service.restart() == "ended with exit code 4"
    service.stop()


def test_more_ranks_than_a_job_can_have_are_refused_before_anything_starts(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.touch()
    assert launcher.run_training(launcher.RunOptions(65, str(script))) == 2
    assert capsys.readouterr().err == (
        "netsum run: -n 65: a job has at most 64 ranks, a bit for each in the aggregator's slots; a --tree of P4 "
        "switches has more\n"
    )


def test_a_bad_impairment_is_refused_in_the_users_words(tmp_path, capsys):
    script = tmp_path / "train.py"
    script.touch()
    assert launcher.run_training(launcher.RunOptions(2, str(script), impairments="loss=150%")) == 2
    assert capsys.readouterr().err == (
        "netsum run: --impair 'loss=150%': bad loss '150%'; give a probability from 0 to 1, such as 0.3 or 30%\n"
    )


def test_nobody_at_a_controllers_address_is_found_out_soon():
    with pytest.raises(Unreachable, match=r"no controller answers at 127.0.0.1:9: .*Is `netsum controller` running"):
        check_reachable("127.0.0.1:9", within_s=0.2)


def test_a_lost_syn_is_not_waited_for_until_the_kernel_repeats_it(monkeypatch: pytest.MonkeyPatch) -> None:
    waits_s: list[float] = []

    def connect(address: Any, timeout_s: float) -> Any:
        waits_s.append(timeout_s)
        if len(waits_s) < 3:
            raise TimeoutError
        return SimpleNamespace(close=lambda: None)

    monkeypatch.setattr("socket.create_connection", connect)
    check_reachable("127.0.0.1:9")
    assert waits_s == pytest.approx([0.2, 0.4, 0.8])


def run_of_killed(path: Path, kills: int) -> tuple[launcher._Run, Service]:
    """A run whose one service is killed so often before it is ready, and whose ranks end when it is."""
    programs = iter([KILLED] * kills + [STAYS])
    service = Service("switch", path / "log", lambda ready: [sys.executable, "-c", next(programs)])
    service.start()
    run = launcher._Run(launcher.RunOptions(1, "train.py"), None, path)
    run._services = [service]
    ranks: Any = SimpleNamespace(pid=os.getpid(), returncode=0, poll=lambda: 0 if service.ready else None)
    run._ranks = ranks
    return run, service


def test_a_run_starts_a_service_again_that_is_killed_before_it_is_ready(tmp_path, capsys):
    run, service = run_of_killed(tmp_path, kills=3)
    assert run._supervise() == 0
    assert capsys.readouterr().err == 3 * "netsum run: the switch was killed by SIGKILL; restarted\n"
    assert service.running()
    service.stop()


def test_a_run_ends_where_a_service_is_always_killed_before_it_is_ready(tmp_path):
    run, _ = run_of_killed(tmp_path, kills=RESTARTS + 1)
    with pytest.raises(LaunchError, match=f"was killed by SIGKILL {RESTARTS + 1} times in a minute"):
        run._supervise()


def test_the_doctor_reports_a_check_that_breaks(monkeypatch, capsys):
    def _odd() -> doctor.Finding:
        raise OSError("no such thing")

    monkeypatch.setattr(doctor, "CHECKS", (doctor._python, _odd))
    assert doctor.run_doctor(as_json=True) == 1
    good, odd = json.loads(capsys.readouterr().out)
    assert good["verdict"] == "ok"
    assert odd["subject"] == "odd"
    assert "no such thing" in odd["text"]
