"""The control plane's view of a program: profiles, keys of no bits, externs that the target lacks."""

from __future__ import annotations

from emulator.v1model.control_view import ControlView
from emulator.v1model.make_control_view import make_view
from tests.programs.text import compile_text, program


def view_of(local: str, declarations: str = "") -> ControlView:
    checked = compile_text(program(declarations=declarations, local=local, apply="t.apply();"))
    return make_view(checked.program, checked.p4info)


def test_the_first_of_repeated_annotations_counts() -> None:
    local = """@name("one") @name("two") @max_group_size(8w3) @max_group_size(4)
        action_selector(HashAlgorithm.crc16, 16, 8) s;
        table t {
            key = { meta.m8: exact; meta.m16: selector; }
            actions = { NoAction; }
            implementation = s;
        }"""
    checked = compile_text(program(local=local, apply="t.apply();"))
    view = make_view(checked.program, checked.p4info)
    assert [p.max_group_size for p in checked.p4info.action_profiles] == [3]
    assert [(p.name, p.size, p.max_group_size) for p in view.profiles] == [("I.one", 16, 3)]


def test_profiles_without_a_name_get_different_ones() -> None:
    tables = "".join(
        f"table {x} {{ actions = {{ NoAction; }} key = {{ meta.m8: exact; }} implementation = action_profile({n}); }}"
        for x, n in (("t", 4), ("u", 8))
    )
    checked = compile_text(program(local=tables, apply="t.apply(); u.apply();"))
    view = make_view(checked.program, checked.p4info)
    assert [(p.name, p.size) for p in view.profiles] == [("action_profile", 4), ("action_profile_1", 8)]
    assert [t.profile for t in view.tables] == ["action_profile", "action_profile_1"]


def test_a_key_without_bits_has_one_in_the_table() -> None:
    view = view_of("bit<0> none = 0; table t { key = { none: exact; } actions = { NoAction; } }")
    assert [(k.name, k.width_bits) for k in view.tables[0].keys] == [("none", 1)]


def test_declared_externs_are_no_objects_of_the_control_plane() -> None:
    local = "Y<bit<8>>(3) y; table t { actions = { NoAction; } }"
    view = view_of(local, "extern Y<T> { Y(bit<8> n); void go(inout T x); }\n")
    assert (view.counters, view.registers, view.meters, view.profiles) == ((), (), (), ())
