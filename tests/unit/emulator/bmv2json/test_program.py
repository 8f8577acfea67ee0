"""What documents make packets do, where our own programs (tests/conformance) do not reach: both engines."""

from __future__ import annotations

import pytest

from emulator.v1model.compiled import ENGINES
from tests.programs.bmv2_documents import (
    EGRESS_SPEC,
    A,
    B,
    C,
    Json,
    Running,
    X,
    assign,
    document,
    extract,
    field,
    follow,
    header,
    hexstr,
    keyless,
    op,
    primitive,
    state,
    union_extract,
    with_table,
    with_unions,
)

WIDE, SIGNED = field("scalars", "wide"), field("scalars", "s")


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (op("+", A, B), 0x00FE + 0x0001),
        (op("-", B, A), (1 - 0xFE) & 0xFFFF),
        (op("*", A, A), 0xFE * 0xFE & 0xFFFF),
        (op("<<", A, hexstr(8)), 0xFE00),
        (op(">>", op("<<", A, hexstr(20)), hexstr(16)), 0xFE << 4),
        (op(">>", op("-", B, A), hexstr(1)), ((1 - 0xFE) >> 1) & 0xFFFF),
        (op("~", None, A), ~0xFE & 0xFFFF),
        (op("/", A, hexstr(7)), 0xFE // 7),
        (op("%", A, hexstr(7)), 0xFE % 7),
        (op("two_comp_mod", A, hexstr(8)), 0xFFFE),
        (op("usat_cast", op("-", B, A), hexstr(8)), 0),
        (op("usat_cast", op("+", A, A), hexstr(8)), 0xFF),
        (op("sat_cast", op("-", B, A), hexstr(8)), 0xFF80),
        (op("?", hexstr(3), hexstr(4), op("<", op("-", B, A), hexstr(0))), 3),
        (op("b2d", None, op("or", op("==", A, B), op("not", None, op(">=", B, A)))), 1),
        (op("&", op("|", A, hexstr(-0x100)), hexstr(0xFFFF)), 0xFFFE),
        (op("^", A, hexstr(-1)), ~0xFE & 0xFFFF),
    ],
)
def test_numbers_have_no_bounds_until_they_are_assigned(engine: str, value: Json, expected: int) -> None:
    assert Running(document([assign(C, value)]), engine).one("fe010000") == f"fe01{expected:04x}"


def test_signed_fields_are_signed_numbers(engine: str) -> None:
    made = document([assign(SIGNED, A), assign(C, op("+", SIGNED, hexstr(1)))])
    assert Running(made, engine).one("fe010000") == "fe01ffff"


def test_primitives_of_p4_14(engine: str) -> None:
    made = document(
        [
            primitive("modify_field", X, A),
            primitive("add_to_field", X, hexstr(3)),
            primitive("subtract_from_field", X, B),
            primitive("bit_xor", A, X, hexstr(0xFF)),
            primitive("shift_left", C, X, hexstr(4)),
        ]
    )
    assert Running(made, engine).one("10010000") == "ed010120"


def test_jumps_forward_and_back(engine: str) -> None:
    """c = sum of 1 .. a, where a loop jumps back; then b = 1 if c > 9 else 2."""
    made = document(
        [
            assign(X, hexstr(0)),
            primitive("_jump_if_zero", op("<", X, A), hexstr(5)),
            assign(X, op("+", X, hexstr(1))),
            assign(C, op("+", C, X)),
            primitive("_jump", hexstr(1)),
            primitive("_jump_if_zero", op(">", C, hexstr(9)), hexstr(8)),
            assign(B, hexstr(1)),
            primitive("_jump", hexstr(9)),
            assign(B, hexstr(2)),
        ]
    )
    running = Running(made, engine)
    assert running.one("04000000") == "0401000a"
    assert running.one("03000000") == "03020006"


def test_exit_ends_the_pipeline_when_the_action_is_done(engine: str) -> None:
    made = document([primitive("exit"), assign(A, hexstr(7))])
    ingress = made["pipelines"][0]
    made["actions"].append({"name": "late", "id": 2, "primitives": [assign(B, hexstr(9))]})
    follow(made, 1, "tbl_late")
    ingress["tables"].append(keyless("tbl_late", 2, "late", None))
    assert Running(made, engine).one("00000000") == "07000000"


def test_a_register_in_an_expression_is_read_before_the_statement(engine: str) -> None:
    array = {"type": "register_array", "value": "r"}
    made = document(
        [
            primitive("register_write", array, hexstr(2), A),
            assign(C, op("+", {"type": "register", "value": ["r", hexstr(2)]}, hexstr(1))),
        ],
        register_arrays=[{"name": "r", "id": 0, "size": 4, "bitwidth": 16}],
    )
    assert Running(made, engine).one("fe000000") == "fe0000ff"


def graph(made: Json, *nodes: tuple[str, Json, str | None, str | None], entry: str) -> Json:
    """Conditions in ingress, and keyless tables ``tbl_aN`` that add N to c and go where ``next`` says."""
    made["pipelines"][0]["conditionals"] = [
        {"name": name, "id": i, "expression": test, "true_next": yes, "false_next": no}
        for i, (name, test, yes, no) in enumerate(nodes)
    ]
    follow(made, 0, entry)
    return made


def adding(made: Json, number: int, following: str | None) -> str:
    made["actions"].append(
        {"name": f"a{number}", "id": 10 + number, "primitives": [assign(C, op("+", C, hexstr(number)))]}
    )
    made["pipelines"][0]["tables"].append(keyless(f"tbl_a{number}", 10 + number, f"a{number}", following))
    return f"tbl_a{number}"


def test_ways_that_cross_are_led_without_copies(engine: str) -> None:
    """if (a && b) c += 1 else c += 2, the second reached from two conditions, and from the first by a table."""
    made = document()
    one, two = adding(made, 1, "tbl_a4"), adding(made, 2, None)
    adding(made, 4, "n3")
    nodes = (("n1", op(">", A, hexstr(0)), "n2", two), ("n2", op(">", B, hexstr(0)), one, two),
             ("n3", op(">", B, hexstr(1)), None, two))  # fmt: skip
    running = Running(graph(made, *nodes, entry="n1"), engine)
    assert running.one("00000000") == "00000002"
    assert running.one("01000000") == "01000002"
    assert running.one("01010000") == "01010007"
    assert running.one("01020000") == "01020005"


def test_an_action_call_stands_for_its_action(engine: str) -> None:
    made = document([assign(A, hexstr(3))])
    ingress = made["pipelines"][0]
    ingress["tables"] = ingress["tables"][:1]
    follow(made, 0, "call")
    ingress["action_calls"] = [{"name": "call", "id": 0, "action_id": 0, "next_node": None}]
    assert Running(made, engine).one("00000000") == "03000000"


# --- Unions and stacks ------------------------------------------------------------------------------------------------


US = {"type": "header_union_stack", "value": "us"}


def test_a_stack_of_unions_is_filled_and_sent(engine: str) -> None:
    running = Running(with_unions(), engine)
    assert running.one("0000000000aa01bbcc02") == "aa000000aabbcc"
    assert running.one("0000000001bbcc00aa02") == "aa000000bbccaa"


def test_a_full_stack_of_unions_is_an_error(engine: str) -> None:
    made = with_unions()
    made["actions"][1]["primitives"] = [assign(C, field("standard_metadata", "parser_error"))]
    assert Running(made, engine).one("00000000" + "00aa" * 3).startswith("aa000003")


def test_members_of_unions_exclude_each_other(engine: str) -> None:
    element = op("dereference_union_stack", US, hexstr(0))
    one, two = (op("access_union_header", element, hexstr(i)) for i in (0, 1))
    made = with_unions()
    made["actions"][1]["primitives"] = [
        primitive("add_header", two),
        assign(op("access_field", two, 0), hexstr(0x1234)),
        assign(B, op("b2d", None, op("valid", None, one))),
        assign(C, op("b2d", None, op("valid_union", None, element))),
        assign(A, op("+", op("size_stack", None, US), op("last_stack_index", None, US))),
    ]
    assert Running(made, engine).one("0000000000aa02") == "020000011234"


def test_a_union_becomes_another_and_stacks_move(engine: str) -> None:
    first, second = (op("dereference_union_stack", US, hexstr(i)) for i in (0, 1))
    made = with_unions()
    made["actions"][1]["primitives"] = [
        primitive("assign_union", second, first),
        assign(B, op("b2d", None, op("==", first, second))),
        primitive("pop", US, hexstr(1)),
    ]
    assert Running(made, engine).one("0000000000aa02") == "aa010000aa"
    made["actions"][1]["primitives"] = [primitive("push", US, hexstr(1))]
    assert Running(made, engine).one("0000000000aa01bbcc02") == "aa000000aa"


def test_the_next_element_is_copied_with_a_stack(engine: str) -> None:
    made = with_unions()
    copy = copy_of_stack(made)
    made["parsers"][0]["parse_states"][3] = state(
        "get_two",
        [union_extract("two"), primitive("primitive", primitive("assign_union_stack", copy, US)),
         {"op": "extract", "parameters": [{"type": "union_stack", "value": ["vs", "two"]}]}],
    )  # fmt: skip
    made["deparsers"][0]["order"] = ["h", "vs"]
    assert Running(made, engine).one("0000000001aabbccdd") == "00000000aabbccdd"


def copy_of_stack(made: Json) -> Json:
    """A second stack of unions ``vs``, like ``us``."""
    names = ["vs[0].one", "vs[0].two", "vs[1].one", "vs[1].two"]
    made["headers"] += [
        {"name": n, "id": 30 + i, "header_type": n.partition(".")[2] + "_t"} for i, n in enumerate(names)
    ]
    made["header_unions"] += [
        {"name": f"vs[{i}]", "id": 2 + i, "union_type": "u_t", "header_ids": [30 + 2 * i, 31 + 2 * i]} for i in range(2)
    ]
    made["header_union_stacks"].append(
        {"name": "vs", "id": 1, "union_type": "u_t", "size": 2, "header_union_ids": [2, 3]}
    )
    return {"type": "header_union_stack", "value": "vs"}


# --- Tables and keys -------------------------------------------------------------------------------------------


def entry(key: Json, value: int, priority: int | None = None) -> Json:
    made: Json = {"match_key": [key], "action_entry": {"action_id": 5, "action_data": [hex(value)]}}
    return made | ({} if priority is None else {"priority": priority})


def test_the_smaller_priority_wins(engine: str) -> None:
    anything = {"match_type": "ternary", "key": "0x00", "mask": "0x00"}
    high = {"match_type": "ternary", "key": "0x80", "mask": "0x80"}
    made = with_table("ternary", [entry(anything, 1, 7), entry(high, 2, 3)])
    running = Running(made, engine)
    assert (running.one("00000000"), running.one("81000000")) == ("00000001", "81000002")


def test_ranges_and_prefixes(engine: str) -> None:
    running = Running(with_table("range", [entry({"match_type": "range", "start": "0x10", "end": "0x1f"}, 1)]), engine)
    assert (running.one("1f000000"), running.one("20000000")) == ("1f000001", "20000000")
    prefixes = [entry({"match_type": "lpm", "key": "0xf0", "prefix_length": n}, n) for n in (2, 4)]
    running = Running(with_table("lpm", prefixes), engine)
    assert (running.one("f1000000"), running.one("c1000000")) == ("f1000004", "c1000002")


@pytest.mark.parametrize(("name", "width"), [("h.a & 0xf0", 8), ("h.a[7:4]", 4)])
def test_a_mask_on_a_key_is_a_mask_or_a_slice(engine: str, name: str, width: int) -> None:
    made = with_table("exact", [entry({"match_type": "exact", "key": "0xa0"}, 1)], mask="0xf0", name=name)
    running = Running(made, engine)
    assert running.loaded.p4info.tables[0].match_fields[0].bitwidth == width
    assert (running.one("af000000"), running.one("ba000000")) == ("af000001", "ba000000")


def test_what_follows_depends_on_hit_and_miss(engine: str) -> None:
    made = with_table("exact", [entry({"match_type": "exact", "key": "0x01"}, 1)])
    two, four = adding(made, 2, None), adding(made, 4, None)
    made["pipelines"][0]["tables"][1]["next_tables"] = {"__HIT__": two, "__MISS__": four}
    running = Running(made, engine)
    assert (running.one("01000000"), running.one("02000000")) == ("01000003", "02000004")


# --- The parser -----------------------------------------------------------------------------------------------------


def test_keys_are_compared_as_filled_up_byte_strings(engine: str) -> None:
    made = document()
    made["header_types"][0]["fields"] = [["a", 4], ["b", 12], ["c", 16]]
    match = {"type": "hexstr", "value": "0x0a0123", "mask": "0x0f0fff", "next_state": "hit"}
    never = {"type": "hexstr", "value": "0xfa0123", "mask": None, "next_state": "never"}
    last = {"type": "default", "value": None, "mask": None, "next_state": None}
    put = [{"op": "set", "parameters": [C, hexstr(n)]} for n in (1, 2)]
    made["parsers"][0]["parse_states"] = [
        {"name": "start", "parser_ops": [extract("h")], "transitions": [last, never, match], "transition_key": [A, B]},
        state("hit", [put[0]]),
        state("never", [put[1]]),
    ]
    running = Running(made, engine)
    assert (running.one("a1230000"), running.one("a1240000")) == ("a1230001", "a1240000")


def test_states_may_be_called_anything(engine: str) -> None:
    made = document()
    made["parsers"][0] = {
        "name": "p", "id": 0, "init_state": "accept",
        "parse_states": [state("accept", [extract("h")], "start"),
                         state("start", [{"op": "set", "parameters": [A, hexstr(9)]}], "reject"),
                         state("reject", [{"op": "set", "parameters": [B, hexstr(8)]}])],
    }  # fmt: skip
    assert Running(made, engine).one("00000000") == "09080000"


def test_an_error_may_have_any_number(engine: str) -> None:
    made = document([assign(C, field("standard_metadata", "parser_error"))])
    made["errors"] = [["NoError", 1], ["PacketTooShort", 2]]
    assert Running(made, engine).one("00000000") == "00000001"
    made["parsers"][0]["parse_states"][0]["parser_ops"].append({"op": "advance", "parameters": [hexstr(80)]})
    assert Running(made, engine).one("00000000") == "00000002"


def test_metadata_by_its_alias(engine: str) -> None:
    made = document([assign(field("more", "group"), hexstr(0)), assign(C, field("more", "spec"))])
    made["header_types"].append({"name": "more_t", "id": 9, "fields": [["group", 16], ["spec", 16]]})
    made["headers"].append({"name": "more", "id": 9, "header_type": "more_t", "metadata": True})
    made["field_aliases"] = [["intrinsic_metadata.mcast_grp", ["more", "group"]],
                             ["standard_metadata.egress_spec", ["more", "spec"]]]  # fmt: skip
    made["actions"][1]["primitives"].insert(0, assign(EGRESS_SPEC, hexstr(1)))
    assert Running(made, engine).one("00000000") == "00000001"


@pytest.mark.parametrize(
    ("primitives", "expected"),
    [
        ([primitive("mark_to_drop", header("standard_metadata"))], None),
        ([primitive("mark_to_drop")], None),
        ([primitive("drop")], None),
        ([primitive("mark_to_drop", header("standard_metadata")), assign(EGRESS_SPEC, hexstr(1))], "00000000"),
        ([primitive("mark_to_drop", header("copy")), assign(C, field("copy", "egress_spec"))], "000001ff"),
        (
            [
                assign(field("copy", "mcast_grp"), hexstr(3)),
                primitive("mark_to_drop", header("copy")),
                assign(C, field("copy", "mcast_grp")),
            ],
            "00000000",
        ),
        (
            [
                primitive("assign_header", header("copy"), header("standard_metadata")),
                primitive("mark_to_drop", header("copy")),
                primitive("assign_header", header("standard_metadata"), header("copy")),
            ],
            None,
        ),
    ],
)
def test_mark_to_drop_sets_fields_of_the_metadata_that_is_given(
    engine: str, primitives: list[Json], expected: str | None
) -> None:
    made = document(primitives)
    made["headers"].append({"name": "copy", "id": 9, "header_type": "standard", "metadata": True})
    found = Running(made, engine).send(bytes(4))
    assert found == ({} if expected is None else {1: [bytes.fromhex(expected)]})


def test_headers_are_compared_whole(engine: str) -> None:
    made = document(
        [
            assign(A, op("b2d", None, op("==", header("h"), header("g")))),
            primitive("assign_header", header("g"), header("h")),
            assign(B, op("b2d", None, op("==", header("h"), header("g")))),
        ]
    )
    made["headers"].append({"name": "g", "id": 7, "header_type": "h_t"})
    assert Running(made, engine).one("05050505") == "00010505"


@pytest.mark.parametrize(("item", "expected"), [(field("other", "a"), "0105"), (X, "0005")])
def test_hash_leaves_out_fields_of_invalid_headers_but_not_copies_of_them(
    engine: str, item: Json, expected: str
) -> None:
    hashed = {"type": "calculation", "value": "calc"}
    into_c = primitive("modify_field_with_hash_based_offset", C, hexstr(0), hashed, hexstr(1 << 16))
    made = document([assign(X, field("other", "a")), into_c])
    made["headers"].append({"name": "other", "id": 5, "header_type": "h_t", "metadata": False})
    made["calculations"] = [{"name": "calc", "id": 0, "algo": "identity", "input": [A, item, B]}]
    assert Running(made, engine).one("01050000") == "0105" + expected


def test_a_sample_may_hold_constants(engine: str) -> None:
    constant = {"type": "hexstr", "value": "0x1ff", "bitwidth": 8}
    made = document(
        [primitive("generate_digest", hexstr(1), hexstr(1))],
        learn_lists=[{"id": 1, "name": "d", "elements": [A, constant]}],
    )
    running = Running(made, engine)
    running.one("07000000")
    (digest,) = running.loaded.p4info.digests
    assert running.switch.take_digests(digest.preamble.id, 9) == [(7, 0xFF)]


# --- What p4c writes, today and in its first years -----------------------------------------------------------------


def test_a_message_without_values(engine: str) -> None:
    text = {"type": "string", "value": "hello"}
    running = Running(document([primitive("log_msg", text, {"type": "parameters_vector", "value": {}})]), engine)
    running.one("00000000")
    assert list(running.switch.take_messages()) == ["hello"]


def test_signs_of_fields_as_numbers(engine: str) -> None:
    made = document([assign(SIGNED, hexstr(-1)), assign(B, op("b2d", None, op("<", SIGNED, hexstr(0))))])
    made["header_types"][0]["fields"] = [["a", 8, 0], ["b", 8, 0], ["c", 16, False]]
    made["header_types"][1]["fields"][2] = ["s", 8, 1]
    assert Running(made, engine).one("00000000") == "00010000"


def direct_call() -> Json:
    """``put`` is in table t, and called directly: p4c writes a second one, without data."""
    made = with_table("exact", [entry({"match_type": "exact", "key": "0x01"}, 7)])
    made["actions"].append({"name": "put", "id": 6, "runtime_data": [], "primitives": [assign(C, hexstr(9))]})
    ingress = made["pipelines"][0]
    ingress["tables"].append(keyless("tbl_put", 6, "put", "t"))
    follow(made, 0, "tbl_put")
    return made


def test_an_action_that_is_in_a_table_and_called_directly(engine: str) -> None:
    running = Running(direct_call(), engine)
    info = running.loaded.p4info
    assert [(a.preamble.name, len(a.params)) for a in info.actions] == [("put", 1), ("run", 0)]
    for again in (running, Running(direct_call(), engine, info)):
        assert (again.one("01000000"), again.one("02000000")) == ("01000007", "02000009")


def test_tables_that_name_their_actions(engine: str) -> None:
    made = with_table("exact", [entry({"match_type": "exact", "key": "0x01"}, 7)])
    for table in (table for pipeline in made["pipelines"] for table in pipeline["tables"]):
        del table["action_ids"]
    running = Running(made, engine)
    assert (running.one("01000000"), running.one("02000000")) == ("01000007", "02000000")


def test_fields_of_no_bits_read_zero_and_keep_nothing(engine: str) -> None:
    empty, in_metadata = field("h", "e"), field("scalars", "e")
    made = document([
        assign(empty, hexstr(5)), assign(in_metadata, A), assign(C, op("+", empty, in_metadata)),
        assign(B, op("access_field", header("h"), 2)),
        primitive("modify_field_rng_uniform", empty, hexstr(1), hexstr(3)),
    ])  # fmt: skip
    made["header_types"][0]["fields"] = [["a", 8, False], ["e", 0, False], ["b", 8, False], ["c", 16, False]]
    made["header_types"][1]["fields"].append(["e", 0, False])
    assert Running(made, engine).one("01020304") == "01020000"


def test_a_key_of_no_bits_matches(engine: str) -> None:
    made = with_table("exact", [entry({"match_type": "exact", "key": "0x00"}, 7)])
    made["header_types"][0]["fields"].append(["e", 0, False])
    made["pipelines"][0]["tables"][1]["key"][0]["target"] = ["h", "e"]
    assert Running(made, engine).one("05000000") == "05000007"


def test_validity_as_a_hidden_field(engine: str) -> None:
    def valid(name: str) -> Json:
        return op("d2b", None, field(name, "$valid$"))

    made = document([
        assign(B, op("b2d", None, op("and", valid("h"), op("not", None, valid("other"))))),
        assign(A, op("b2d", None, valid("scalars"))),
        primitive("modify_field_with_hash_based_offset", C, hexstr(0), {"type": "calculation", "value": "calc"},
                  hexstr(1 << 16)),
    ])  # fmt: skip
    made["headers"].append({"name": "other", "id": 5, "header_type": "h_t", "metadata": False})
    made["calculations"] = [
        {"name": "calc", "id": 0, "algo": "identity", "input": [field("h", "$valid$"), field("other", "$valid$")]}
    ]
    assert Running(made, engine).one("05000000") == "01010080"


@pytest.mark.parametrize(("name", "expected"), [("h", "05000007"), ("scalars", "05000007"), ("other", "05000000")])
def test_validity_as_a_key_and_in_lists(engine: str, name: str, expected: str) -> None:
    made = with_table("exact", [entry({"match_type": "exact", "key": "0x01"}, 7)])
    made["pipelines"][0]["tables"][1]["key"][0]["target"] = [name, "$valid$"]
    made["headers"].append({"name": "other", "id": 5, "header_type": "h_t", "metadata": False})
    made["field_lists"] = [{"id": 1, "name": "kept", "elements": [field(name, "$valid$"), X]}]
    assert Running(made, engine).one("05000000") == expected


def test_validity_of_the_last_element_of_a_stack(engine: str) -> None:
    made = with_unions()
    last = {"type": "union_stack_field", "value": ["us", "one", "$valid$"]}
    made["parsers"][0]["parse_states"][2]["parser_ops"].append({"op": "set", "parameters": [B, last]})
    del made["header_union_stacks"][0]["size"]
    assert Running(made, engine).one("0000000000aa02") == "aa010000aa"


def variable_width() -> Json:
    """Two headers o and q with varbit<16> fields, whose lengths are in the first two bytes of h."""
    made = document()
    made["header_types"].append({"name": "o_t", "id": 3, "fields": [["v", "*"]], "max_length": 2})
    made["header_types"].append({"name": "m_t", "id": 4, "fields": [["v", "*"], ["n", 8, False]], "max_length": 3})
    made["headers"] += [{"name": n, "id": 5 + i, "header_type": "o_t"} for i, n in enumerate("oq")]
    made["headers"] += [{"name": n, "id": 8 + i, "header_type": "m_t", "metadata": True} for i, n in enumerate("mk")]
    operations = made["parsers"][0]["parse_states"][0]["parser_ops"]
    for name, length in (("o", A), ("q", B)):
        operations.append({"op": "extract_VL", "parameters": [{"type": "regular", "value": name}, length]})
    made["deparsers"][0]["order"] += ["o", "q"]
    return made


@pytest.mark.parametrize(("comparison", "expected"), [("==", (1, 0, 0)), ("!=", (0, 1, 1))])
def test_fields_of_variable_width_are_compared(engine: str, comparison: str, expected: tuple[int, ...]) -> None:
    made = variable_width()
    same = op(comparison, field("o", "v"), field("q", "v"))
    made["actions"][1]["primitives"] = [assign(C, op("b2d", None, same))]
    running = Running(made, engine)
    frames = ("08080000aaaa", "08080000aabb", "08100000aa00aa")
    assert tuple(int(running.one(frame)[4:8], 16) for frame in frames) == expected


def test_metadata_of_variable_width(engine: str) -> None:
    made = variable_width()
    made["actions"][1]["primitives"] = [
        primitive("assign_VL", field("m", "v"), field("o", "v")),
        primitive("assign_header", header("k"), header("m")),
        primitive("assign_VL", field("q", "v"), field("k", "v")),
        assign(C, op("b2d", None, op("==", field("k", "v"), field("m", "v")))),
    ]
    assert Running(made, engine).one("10080000aabbcc") == "10080001aabbaabb"
