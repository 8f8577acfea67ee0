"""torch's own tests of torch.distributed, which its wheel contains, on four ranks with gloo or with netsum.

Two parts of ``torch.testing._internal.distributed`` are run: ``distributed_test`` (every test of
``DistributedTest._DistTestBase``) and ``ddp_under_dist_autograd_test`` (DDP whose backward runs in RPC's threads).
netsum replaces gloo (``autoload.REPLACED``), so the tests treat both alike. torch selects tests by backend and by the
numbers of GPUs and ranks; here all are run, calls for CUDA devices use the CPU, and gloo shows which mean something.

The ranks of a test are forked from a process that has imported everything, which saves 2 s of CPU time for each.

    python -m tests.labs.torch_suite --backend gloo --results gloo.json
    NETSUM_CONTROLLER=HOST:PORT python -m tests.labs.torch_suite --backend netsum NAME ...
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
import tempfile
import time
import unittest
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from tests.labs.torch_jobs import free_port

RANKS = 4
TEST_TIMEOUT_S = 60
"""Time of one test, for those that torch gives no time of its own."""

LONGEST_OUTPUT = 4000
"""Characters of the ranks' output that a failure shows."""


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one test."""

    name: str
    outcome: str
    """passed, failed or skipped."""
    seconds: float
    text: str
    """Of a failure its traceback and the end of the ranks' output, of a skipped test the reason."""


def main() -> int:
    """Run the tests that the command line names, all without names; 0 if none failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--backend", choices=("gloo", "netsum"), default="netsum")
    parser.add_argument("--results", type=Path, help="file for the results, as JSON")
    parser.add_argument("--list", action="store_true", help="print the names of all tests")
    parser.add_argument("names", nargs="*", help="names of tests; default: all")
    arguments = parser.parse_args()
    _set_environment(arguments.backend)
    if arguments.list:
        print("\n".join(_load_cases(arguments.backend)))
        return 0
    report = os.fdopen(os.dup(1), "w", buffering=1)
    with tempfile.TemporaryDirectory(prefix="netsum-torch-suite-") as folder:
        tempfile.tempdir = folder  # torch's tests leave files
        output = Path(folder, "output")
        with output.open("a") as opened:  # for the ranks, and C++ code in them
            os.dup2(opened.fileno(), 1)
            os.dup2(opened.fileno(), 2)
        results = []
        for result in run_tests(arguments.backend, arguments.names, output):
            results.append(result)
            print(f"{result.outcome:8}{result.seconds:6.1f} s  {result.name}", file=report)
            if arguments.results is not None:
                arguments.results.write_text(json.dumps([asdict(each) for each in results], indent=1))
    counts = {
        outcome: sum(result.outcome == outcome for result in results) for outcome in ("passed", "failed", "skipped")
    }
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()), file=report)
    return 1 if counts["failed"] else 0


def _set_environment(backend: str) -> None:
    """What torch reads when it is imported, here and in the ranks."""
    os.environ.update(
        BACKEND="gloo",
        WORLD_SIZE=str(RANKS),
        OMP_NUM_THREADS="1",
        DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=str(TEST_TIMEOUT_S),
    )
    os.environ.pop("NETSUM_REPLACE_BACKEND", None)
    if backend == "netsum":
        os.environ["NETSUM_REPLACE_BACKEND"] = "gloo"


def run_tests(backend: str, names: list[str], output: Path) -> Iterator[Result]:
    """Results one by one. Once in a process, after ``_set_environment``. ``output`` is where the ranks write."""
    cases = _load_cases(backend)
    unknown = sorted(set(names) - set(cases))
    if unknown:
        raise SystemExit(f"torch has no test {', '.join(unknown)}")
    for name in names or cases:
        os.truncate(output, 0)
        yield _run_test(name, cases[name], output)


def _run_test(name: str, case: unittest.TestCase, output: Path) -> Result:
    begin_s = time.monotonic()
    result = unittest.TestResult()
    unittest.TestSuite([case]).run(result)
    seconds = round(time.monotonic() - begin_s, 2)
    for outcome, found in (("failed", result.failures + result.errors), ("skipped", result.skipped)):
        if found:
            last = output.read_text(errors="replace")[-LONGEST_OUTPUT:] if outcome == "failed" else ""
            return Result(name, outcome, seconds, f"{found[0][1]}{last}")
    return Result(name, "passed", seconds, "")


# --- torch's test classes -------------------------------------------------------------------------------------------


def _load_cases(backend: str) -> dict[str, Any]:
    """Every test by its name."""
    with _selecting_all():
        from torch.testing._internal.distributed import distributed_test as of_torch
    from torch.testing._internal.distributed import ddp_under_dist_autograd_test as in_rpc
    from torch.testing._internal.distributed.rpc.tensorpipe_rpc_agent_test_fixture import TensorPipeRpcAgentTestFixture
    from torch.testing._internal.distributed.rpc_utils import SpawnHelper

    _use_cpu_for_cuda(of_torch)
    if backend == "netsum":
        import hostagent.torch_backend.creation
        import hostagent.transport.process  # noqa: F401

    class Distributed(_Forking, of_torch.TestDistBackend, of_torch.DistributedTest._DistTestBase):
        def setUp(self) -> None:
            super().setUp()
            os.environ["MASTER_PORT"] = str(free_port())
            self._spawn_processes()

        def test_Backend_enum_class(self) -> None:
            with mock.patch.object(of_torch, "BACKEND", backend):
                super().test_Backend_enum_class()

        def test_get_backend(self) -> None:
            with mock.patch.object(of_torch, "BACKEND", backend):
                super().test_get_backend()

    class DdpUnderDistAutograd(_Forking, in_rpc.DdpUnderDistAutogradTest, TensorPipeRpcAgentTestFixture, SpawnHelper):
        pass

    class DdpComparison(_Forking, in_rpc.DdpComparisonTest, TensorPipeRpcAgentTestFixture, SpawnHelper):
        pass

    loader = unittest.TestLoader()
    classes = (Distributed, DdpUnderDistAutograd, DdpComparison)
    return {name: cls(name) for cls in classes for name in loader.getTestCaseNames(cls)}


class _Forking:
    """Of torch's MultiProcessTestCase: ranks are forked."""

    def _spawn_processes(self) -> None:
        import torch.multiprocessing

        self._start_processes(torch.multiprocessing.get_context("fork").Process)  # type: ignore[attr-defined]


@contextmanager
def _selecting_all() -> Iterator[None]:
    """Decorators that skip a test do nothing while torch's tests are imported."""
    from torch.testing._internal import common_distributed, common_utils

    def keep(*_: Any, **__: Any) -> Callable[[Any], Any]:
        return _unchanged

    with ExitStack() as stack:
        for name in ("skip_if_no_gpu", "skip_if_small_worldsize"):
            stack.enter_context(mock.patch.object(common_distributed, name, _unchanged))
        for name in (
            "skip_if_lt_x_gpu",
            "nccl_skip_if_lt_x_gpu",
            "require_n_gpus_for_nccl_backend",
            "requires_nccl_version",
        ):
            stack.enter_context(mock.patch.object(common_distributed, name, keep))
        for name in ("skip_but_pass_in_sandcastle", "skip_but_pass_in_sandcastle_if"):
            stack.enter_context(mock.patch.object(common_utils, name, keep))
        stack.enter_context(mock.patch.object(unittest, "skipIf", keep))
        yield


def _unchanged(test: Any) -> Any:
    """The test behind a decorator that calls it (torch looks for ``__wrapped__``)."""

    @functools.wraps(test)
    def run(*arguments: Any, **named: Any) -> Any:
        return test(*arguments, **named)

    return run


def _use_cpu_for_cuda(of_torch: Any) -> None:
    """For this process and its children: what asks for a CUDA device gets the CPU."""
    import torch
    from torch.nn.parallel import DistributedDataParallel
    from torch.overrides import TorchFunctionMode

    def here(self: Any, *_: Any, **__: Any) -> Any:
        return self

    def on_cpu(value: Any) -> Any:
        is_cuda = isinstance(value, torch.device) and value.type == "cuda"
        return torch.device("cpu") if is_cuda or (isinstance(value, str) and value.startswith("cuda")) else value

    class OnCpu(TorchFunctionMode):
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = {name: on_cpu(value) for name, value in (kwargs or {}).items()}
            if type(kwargs.get("device")) is int:
                kwargs["device"] = torch.device("cpu")
            if function is torch.Tensor.to and len(args) > 1 and type(args[1]) is int:
                args = (args[0], torch.device("cpu"), *args[2:])
            return function(*(on_cpu(value) for value in args), **kwargs)

    of_module = torch.nn.Module.to

    def module_to(self: Any, *args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is int:
            args = (torch.device("cpu"), *args[1:])
        return of_module(self, *map(on_cpu, args), **{name: on_cpu(value) for name, value in kwargs.items()})

    usual = DistributedDataParallel.__init__

    @functools.wraps(usual)
    def make(
        self: Any, module: Any, device_ids: Any = None, output_device: Any = None, *args: Any, **named: Any
    ) -> None:
        usual(self, module, None, None, *args, **named)

    DistributedDataParallel.__init__ = make  # type: ignore[method-assign]
    torch.Tensor.cuda = torch.nn.Module.cuda = here  # type: ignore[method-assign]
    torch.nn.Module.to = module_to  # type: ignore[method-assign]
    for name in ("set_device", "manual_seed", "synchronize"):
        setattr(torch.cuda, name, lambda *_, **__: None)
    torch.cuda.current_device = lambda: 0
    of_torch.init_multigpu_helper = lambda ranks, _: {rank: [rank] for rank in range(ranks)}
    OnCpu().__enter__()


if __name__ == "__main__":
    sys.exit(main())
