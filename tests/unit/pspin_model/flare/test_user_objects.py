"""Element types and operators of the user's: right sums, prices, refusals."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pspin_model.flare.config import FlareConfig, Reduction, flare_machine, make_config
from pspin_model.flare.dense.run import DenseRun
from pspin_model.flare.element_cost import element_price
from pspin_model.flare.elements import ElementError, ElementType, Values
from pspin_model.flare.study.simulate import Report, simulate
from pspin_model.flare.study.tree_report import reduce_in_time
from pspin_model.machine.config import ConfigError
from pspin_model.machine.costs import ELEMENT_UNIT, FLARE_COSTS, RTL_COSTS
from tests.clients.command import netsum

README = Path(__file__).resolve().parents[4] / "pspin_model" / "flare" / "README.md"
MACHINE = flare_machine(clusters=2)


def block(language: str) -> str:
    """The README's example in that language, the one of types."""
    found = re.findall(rf"^```{language}\n(.*?)^```", README.read_text(), re.MULTILINE | re.DOTALL)
    return next(each for each in found if "bfloat16" in each)


def scaled(a: Any, b: Any) -> Any:
    return (a * b) >> 16


def forever(a: Any, b: Any) -> Any:
    while True:
        a += b


def added(a: Any, b: Any) -> Any:
    return a + b


def seeking(a: Any, b: Any) -> Any:
    """Ends for few numbers."""
    while a != 77:
        a = a * a + b
    return a


@pytest.fixture(autouse=True, scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The README's module and functions of ours, under the README's name."""
    source = tmp_path_factory.mktemp("own") / "mine.py"
    source.write_text(block("python"))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(source.parent)
        patch.delitem(sys.modules, "mine", raising=False)
        made = import_module("mine")
        for function in (scaled, added, forever, seeking):
            setattr(made, function.__name__, function)
        others = {"real": np.float64, "wave": np.complex64, "texts": np.dtype("U4"), "times": lambda a, b: a * b}
        for name, value in others.items():
            setattr(made, name, value)
        yield
        del sys.modules["mine"]


def play(**options: Any) -> Report:
    return simulate(FlareConfig(MACHINE, FLARE_COSTS, (Reduction(2048, **{"children": 5, **options}),)))


def rounded(left: Values, right: Values) -> Values:
    """bfloat16 by another way: eight bits of the sum's mantissa."""
    wide = [(each.astype(np.uint32) << 16).view(np.float32).astype(np.float64) for each in (left, right)]
    mantissa, exponent = np.frexp((wide[0] + wide[1]).astype(np.float32))
    short = np.ldexp(np.rint(mantissa * 256), exponent - 8).astype(np.float32)
    return (short.view(np.uint32) >> 16).astype(np.uint16)


def nearer(left: Values, right: Values) -> Values:
    better = (left["distance"] < right["distance"]) | (
        (left["distance"] == right["distance"]) & (left["index"] < right["index"])
    )
    return np.where(better, left, right)


@pytest.mark.parametrize(
    ("dtype", "operator", "reference"),
    [("mine:bfloat16", "sum", rounded), ("mine:place", "nearest", nearer), ("mine:wave", "product", np.multiply)],
)
@pytest.mark.parametrize("algorithm", ["single", "multi", "tree"])
def test_own_types_run_with_every_algorithm(
    algorithm: str, dtype: str, operator: str, reference: Callable[[Values, Values], Values]
) -> None:
    report = play(algorithm=algorithm, dtype=dtype, operator=operator, children=4, line_rate_gbps=50.0)
    (outcome,) = report.outcomes
    assert outcome.exact
    (made,) = report.runs
    assert isinstance(made, DenseRun)
    assert report.run is not None
    found = made.results(report.run)[0]
    if algorithm == "tree":
        expected = reference(reference(made.rows[0], made.rows[1]), reference(made.rows[2], made.rows[3]))
    else:
        expected = reduce(reference, made.rows)
    if dtype == "mine:wave":
        assert np.allclose(found, expected, rtol=1e-5, atol=1e-6)
    elif dtype == "mine:place" or algorithm == "tree":
        assert (found == expected).all()


def test_the_readmes_types_run_dense_sparse_and_through_trees(tmp_path: Path) -> None:
    (tmp_path / "flare.toml").write_text("[machine]\nclusters = 2\n" + block("toml").replace("64KiB", "2KiB"))
    done = netsum("pspin", "run", str(tmp_path / "flare.toml"))
    assert done.exit_code == 0, done.output
    assert done.output.count("exact") == 2
    given = {"machine": {"clusters": 2}, "tree": {"fan_in": [2, 2], "loss": 0.1, "seed": 1}}
    own = [{"type": "mine:bfloat16", "algorithm": "tree"}, {"type": "mine:place", "operator": "nearest"}]
    reductions = [{**each, **more, "message": "1KiB"} for each in own for more in ({}, {"density": 0.1})]
    reductions[1]["algorithm"] = "auto"
    config = make_config({**given, "reduction": reductions})
    assert config.tree is not None
    assert [report.exact for report in reduce_in_time(config, config.tree).reports] == [True] * 4


@pytest.mark.parametrize("storage", ["hash", "array"])
@pytest.mark.parametrize(("dtype", "operator"), [("mine:bfloat16", "sum"), ("mine:place", "nearest")])
def test_own_types_run_sparse_with_several_buffers(storage: str, dtype: str, operator: str) -> None:
    options = {"storage": storage, "dtype": dtype, "operator": operator, "entries": 64 if storage == "hash" else 0}
    (outcome,) = play(density=0.2, algorithm="multi", **options).outcomes
    assert outcome.exact
    assert outcome.sparse is not None
    assert outcome.sparse.merged > 0
    assert (outcome.sparse.spilled > 0) == (storage == "hash")


def price(costs: Any = FLARE_COSTS, **options: Any) -> float:
    return element_price(Reduction(1024, **options), costs).row.cycles / ELEMENT_UNIT


def test_a_function_costs_what_its_operations_do_or_what_is_declared() -> None:
    assert price(operator="mine:added") == price() == 4
    assert price(operator="mine:added", dtype="int8") == 4  # one at a time
    assert price(operator="mine:times", dtype="int32") == 4  # a lambda
    assert price(operator="mine:scaled", dtype="int32") == 5
    assert price(RTL_COSTS, operator="mine:scaled", dtype="int32") == 10
    assert price(dtype="mine:wave") == 8
    assert price(dtype="mine:wave", operator="product") == 12
    assert price(dtype="mine:wave", operator="mine:times", element_cycles=13.5) == 13.5
    assert price(operator="numpy:maximum") == 4
    # two words, two or four comparisons and the branches that follow
    assert 6 + 2 < price(dtype="mine:place", operator="nearest") < 6 + 8
    slow, fast = (play(operator="mine:added", element_cycles=cycles).outcomes[0] for cycles in (40.0, 0.0))
    assert slow.exact
    assert slow.service_cycles > 5 * fast.service_cycles


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"dtype": "mine:nothing"}, "type mine:nothing: module 'mine' has no attribute 'nothing'"),
        ({"dtype": "mine:added"}, "type mine:added: Cannot interpret"),
        ({"dtype": "mine:texts"}, "type mine:texts is of <U4: use integers, float32"),
        ({"dtype": "mine:place"}, 'choose one of nearest, or "module:function"'),
        ({"element_cycles": -1.0}, "element_cycles = -1.0: from 0"),
        ({"dtype": "mine:wave", "operator": "mine:times"}, "give element_cycles"),
        ({"dtype": "mine:wave", "operator": "min"}, "operator min does not compile for complex64"),
        ({"dtype": "int32", "operator": "mine:scaled", "algorithm": "single"}, 'use algorithm = "tree"'),
        ({"dtype": "mine:real", "operator": "mine:scaled"}, "does not compile for float64"),
        (
            {"operator": "mine:forever"},
            "mine:forever does not compile for float32: it returns no such element, or never",
        ),
        (
            {"dtype": "int8", "operator": "mine:seeking"},
            "operator seeking raises an error, or its loops take more than",
        ),
    ],
)
def test_what_cannot_be_reduced_is_refused_in_words(options: dict[str, Any], told: str) -> None:
    with pytest.raises((ConfigError, ElementError), match=re.escape(told)):
        play(**{"algorithm": "tree", **options})


def test_an_operator_that_does_not_end_is_a_fault_of_the_handler() -> None:
    report = play(dtype="int8", operator="mine:seeking", algorithm="tree", element_cycles=4.0)
    assert not report.outcomes[0].exact
    assert report.faults
    for fault in report.faults:
        assert re.match(
            r"reduction0\.add_tree, message \d+, packet \d+, core \d+, cycle \d+: RuntimeError: the red", fault
        )


def test_a_type_says_whether_it_can_be() -> None:
    assert ElementType(np.dtype("i4,f8,c8")).problem() == ""
    assert "float16" in ElementType(np.dtype("f2,i4")).problem()
