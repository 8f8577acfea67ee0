"""What stands on torch.distributed works on netsum, with gloo's results (see FRAMEWORKS.md)."""

from __future__ import annotations

import pytest

from tests.labs.torch_jobs import run_forked

RANKS = 4
PARTS = {
    "DDP": ("ddp_variants", "ddp_no_sync", "ddp_join", "ddp_hooks", "zero", "compiled_ddp"),
    "others": (
        *("fsdp2", "fsdp1", "dtensor", "tensor_parallel", "checkpoint"),
        *("pipelines", "functional_collectives", "objects"),
    ),
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_parts_of_torch_give_gloos_results(controller, parts):
    output = run_forked(RANKS, controller, "stack.py", *parts)
    assert [output.count(f"{part}: as gloo's") for part in parts] == [RANKS] * len(parts), output


@pytest.mark.slow
def test_a_transformer_learns_as_with_gloo_and_the_same_twice(controller):
    output = run_forked(RANKS, controller, "transformer.py")
    assert [output.count(f"{way}: losses") for way in ("ddp", "fsdp2", "pipeline")] == [RANKS] * 3, output
