"""Programs of earlier years: one error at the place, which says what to write instead."""

from __future__ import annotations

import pytest

from emulator.p4.errors import CompileError, Kind
from tests.programs.text import compile_text, line_of, program

P4_14 = """
header_type ethernet_t { fields { dst : 48; } }
header ethernet_t ethernet;
parser start { extract(ethernet); return ingress; }
control ingress { apply(forward); }
"""


def test_p4_14_is_one_error() -> None:
    with pytest.raises(CompileError) as refused:
        compile_text(P4_14)
    (error,) = refused.value.diagnostics
    assert (error.kind, error.span.line) == (Kind.SYNTAX, 2)
    assert "p4test --std p4-14" in error.message


@pytest.mark.parametrize(
    ("name", "instead"),
    [
        ("recirculate_flag", "call recirculate_preserving_field_list in egress"),
        ("drop", "call mark_to_drop(standard_metadata)"),
    ],
)
def test_members_that_standard_metadata_has_no_more(name: str, instead: str) -> None:
    text = program(apply=f"sm.{name} = 1;")
    with pytest.raises(CompileError) as refused:
        compile_text(text)
    (error,) = refused.value.diagnostics
    assert (error.kind, error.span.line) == (Kind.NAME, line_of(text, f"sm.{name}")[0])
    assert error.message.endswith(f"has no member '{name}' any more: {instead}")
