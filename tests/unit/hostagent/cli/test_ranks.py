"""netsum ranks: a cloud probed, solved and applied; what is said about wrong files."""

import json
import subprocess

import pytest

from hostagent.cli.main import run

GOOD = [[0, 2, 9], [2, 0, 3], [9, 3, 0]]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_probe_to_files(folder, capsys):
    assert run(["ranks", "probe", "--cloud", "2x2x2", "--seed", "7", "-o", "costs.json"]) == 0
    assert run(["ranks", "solve", "costs.json", "--algorithm", "hd", "-o", "order.json", "--plot", "hd.png"]) == 0
    assert "8 ranks, 65536 bytes (exact)" in capsys.readouterr().out
    assert (folder / "hd.png").stat().st_size > 1000
    names = ["--hostfile", "h.txt", "--rankfile", "r.txt", "--torchrun", "e.sh"]
    assert run(["ranks", "apply", "order.json", *names]) == 0
    hosts = json.loads((folder / "order.json").read_text())["hosts"]
    assert (folder / "h.txt").read_text() == "".join(f"{name} slots=1\n" for name in hosts)
    assert (folder / "r.txt").read_text().splitlines()[1] == f"rank 1={hosts[1]} slot=0"
    for name, text in ((hosts[3], f"3 8 {hosts[0]}"), ("other", "")):
        script = f"hostname() {{ echo {name}; }}; . ./e.sh && echo $PET_NODE_RANK $PET_NNODES $PET_MASTER_ADDR"
        shell = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
        assert shell.stdout.strip() == text


def test_evaluate(folder, capsys):
    assert run(["ranks", "evaluate", "--cloud", "2x2x2", "--seeds", "1", "--compute", "0.5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["algorithm"] for row in rows] == ["ring", "hd", "tree", "bcube"]
    assert all(row["measured"] >= 1 for row in rows)
    steps = [(500 + row["given_us"]) / (500 + row["reordered_us"]) for row in rows]
    assert [row["step"] for row in rows] == pytest.approx(steps)


def test_an_algorithm_that_cannot_be_is_left_out(folder, capsys):
    assert run(["ranks", "evaluate", "--cloud", "5x1x1", "--seeds", "1", "--json"]) == 0
    said = capsys.readouterr()
    assert [row["algorithm"] for row in json.loads(said.out)] == ["ring", "hd", "tree"]
    assert "left out: bcube: 5 ranks are not a product" in said.err


def test_costs_of_nothing(folder, capsys):
    (folder / "costs.json").write_text(json.dumps({"latency_ns": [[0, 0], [0, 0]]}))
    assert run(["ranks", "solve", "costs.json"]) == 0
    assert "1.00x faster" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("document", "text"),
    [
        ({"latency_ns": [[0, 2, None], [2, 0, 3], [None, 3, 0]]}, "latency_ns[0][2]: no probe between host0 and host2"),
        ({"latency_ns": [[0, 2, 9], [2, 0, 3], [8, 3, 0]]}, "latency_ns[0][2]: host0 to host2 does not cost what"),
        ({"latency_ns": [[0, 2, 9], [2, 0, 3], [9, 3]]}, "latency_ns[2]: 2 costs, for 3 hosts"),
        ({"latency_ns": [[0, 2, 9], [2, 0, -3], [9, -3, 0]]}, "latency_ns[1][2]: the cost between host1 and host2"),
        ({"latency_ns": [[0, 2, 9], [2, 0, "3"], [9, 3, 0]]}, "latency_ns[1][2]: this has to be a number"),
        ({"latency_ns": GOOD, "names": ["a", "b"]}, "latency_ns: 3 rows, for 2 hosts"),
        ({"latency_ns": GOOD, "names": ["a", "b", "a"]}, "names[2]: 'a' is there twice"),
        ({"latency_ns": GOOD, "byte_ns": [[0]]}, "byte_ns: 1 rows, for 3 hosts"),
        ({"latency": GOOD}, "latency: unknown field (did you mean 'latency_ns'?)"),
        ({}, "latency_ns is missing"),
    ],
)
def test_wrong_costs(folder, capsys, document, text):
    (folder / "costs.json").write_text(json.dumps(document))
    assert run(["ranks", "solve", "costs.json"]) == 2
    assert f"costs.json: {text}" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["solve", "none.json"], "none.json: No such file"),
        (["solve", "good.json", "--algorithm", "rign"], "--algorithm: 'rign': choose one of ring"),
        (["solve", "good.json", "--size", "2"], "2 bytes are too few for"),
        (["solve", "text.json"], "text.json:1: not JSON"),
        (["apply", "good.json", "--hostfile", "x"], "good.json: latency_ns: unknown field"),
        (["apply", "twice.json", "--hostfile", "x"], "twice.json: hosts[1]: 'a' is there twice"),
        (["apply", "twice.json"], "say what to write"),
        (["apply", "evil.json", "--torchrun", "x"], "evil.json: hosts[0]: 'a; rm x' is no host's name"),
        (["apply", "text.json", "--torchrun", "x"], "text.json:1: not JSON"),
        (["probe", "-o", "x"], "-n, --cloud: one of the two"),
        (["probe", "--cloud", "4y4", "-o", "x"], "--cloud: '4y4' is no cloud"),
        (["probe", "--cloud", "2x2x2", "--impair", "loss=0.1", "-o", "x"], "--impair: applies to live ranks, -n"),
        (["probe", "-n", "2", "--noisy", "0.5", "--seed", "3", "-o", "x"], "--noisy, --seed: applies to --cloud"),
        (["solve", "good.json", "--plot", "x.foo"], "x.foo: a picture's name ends in .png"),
    ],
)
def test_wrong_command_lines(folder, capsys, words, text):
    (folder / "good.json").write_text(json.dumps({"latency_ns": GOOD}))
    (folder / "twice.json").write_text(json.dumps({"hosts": ["a", "a"]}))
    (folder / "evil.json").write_text(json.dumps({"hosts": ["a; rm x"]}))
    (folder / "text.json").write_text("none")
    assert run(["ranks", *words]) == 2
    assert text in capsys.readouterr().err
