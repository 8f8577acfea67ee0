"""Documents that are wrong: the message names the place in them and what is wrong there."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from emulator.bmv2json.document import Bmv2JsonError
from emulator.bmv2json.program import load_json
from emulator.rpc.p4protos import p4info_pb2
from tests.programs.bmv2_documents import EGRESS_SPEC, Json, document, extract, field, hexstr, keyless, op, primitive


def complaint(made: Any, p4info: Any = None) -> str:
    content = made if isinstance(made, bytes) else json.dumps(made).encode()
    with pytest.raises(Bmv2JsonError) as caught:
        load_json(content, p4info)
    return str(caught.value)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "line 1, column 1: no JSON"),
        (b"{", "line 1, column 2: no JSON"),
        (b"[1]", "the document: must be an object, not a list"),
        (b"{}", "has no 'header_types': it is not a program in bmv2's JSON format"),
        (b"\xff{}", "is not UTF-8 text"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a":' * 100_000, "is nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no JSON"),
    ],
)
def test_what_is_no_document(content: bytes, says: str) -> None:
    assert says in complaint(content)


def in_action(*primitives: Json) -> Json:
    return document(list(primitives))


def changed(change: Callable[[Json], object]) -> Json:
    made = document()
    change(made)
    return made


ARRAY = {"type": "register_array", "value": "r"}


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (in_action(primitive("assign", EGRESS_SPEC)), "actions[1].primitives[0]: assign takes 2 parameters, not 1"),
        (in_action(primitive("fly")), "actions[1].primitives[0].op: primitive 'fly' is not known"),
        (
            in_action(primitive("assign", field("h", "z"), hexstr(1))),
            "actions[1].primitives[0].parameters[0].value[1]: header type h_t has no field 'z'",
        ),
        (
            in_action(primitive("assign", field("q", "z"), hexstr(1))),
            "actions[1].primitives[0].parameters[0].value[0]: header 'q' is not declared",
        ),
        (
            in_action(primitive("mark_to_drop", {"type": "header", "value": "h"})),
            "primitives[0].parameters[0]: must be the standard metadata, or other metadata of its type",
        ),
        (
            in_action(primitive("mark_to_drop", {"type": "header", "value": "scalars"})),
            "primitives[0].parameters[0]: must be the standard metadata, or other metadata of its type",
        ),
        (
            in_action(primitive("assign", EGRESS_SPEC, {"type": "hexstr", "value": "12g"})),
            'parameters[1].value: must be a hexadecimal number such as "0x1f", not "12g"',
        ),
        (
            in_action(primitive("assign", EGRESS_SPEC, op("**", hexstr(1), hexstr(2)))),
            "parameters[1].value.op: operator '**' is not known",
        ),
        (
            in_action(primitive("assign", EGRESS_SPEC, {"type": "runtime_data", "value": 3})),
            "the action has 0 parameters, there is none with index 3",
        ),
        (in_action(primitive("_jump", hexstr(9))), "primitives[0].parameters[0]: must be a constant from 0 to 1"),
        (in_action(primitive("register_write", ARRAY, hexstr(0), hexstr(0))), "register_array 'r' is not declared"),
        (in_action(primitive("assign", EGRESS_SPEC, {"type": "lookahead", "value": [0, 8]})), "outside a parser"),
        (
            in_action(primitive("assign", field("h", "a"), op(">", op("<<", hexstr(1), field("h", "c")), hexstr(0)))),
            "a shift by up to 65535 bits without a mask on the result",
        ),
        (in_action(primitive("add_header", {"type": "header", "value": "scalars"})), "metadata, which has no validity"),
        (
            changed(lambda m: m["__meta__"].update(version=[3, 0])),
            "version 3.0 of the format is not known",
        ),
        (changed(lambda m: m["__meta__"].update(version=[2, 25])), "version 2.25 of the format is not known"),
        (changed(lambda m: m["parsers"].append(m["parsers"][0])), "parsers: must be one parser, not 2"),
        (changed(lambda m: m["pipelines"].pop()), "pipelines: must be ingress and egress"),
        (changed(lambda m: m["pipelines"][0].update(init_table="no")), "pipelines[0].init_table: there is no table"),
        (
            changed(lambda m: m["pipelines"][0]["tables"].append(keyless("tbl_out", 1, "out", None))),
            "pipelines[0].tables[2].name: something else in this pipeline has this name",
        ),
        (
            changed(lambda m: m["pipelines"][0]["tables"][1]["next_tables"].update(run="tbl_out")),
            "a packet would come here again and again: the pipeline goes round",
        ),
        (changed(lambda m: m["pipelines"][0]["tables"][1].update(action_ids=[7])), "there is no action with id 7"),
        (changed(lambda m: m["headers"].pop(1)), "there is no standard_metadata"),
        (changed(lambda m: m["header_types"][0]["fields"].append(["d", 3])), "35 bits: a header must be whole bytes"),
        (changed(lambda m: m["header_types"][0]["fields"].append(["d", 1 << 40])), "fields[3][1]: must be from 0 to"),
        (changed(lambda m: m["deparsers"][0]["order"].append("x")), "deparsers[0].order[1]: header 'x'"),
        (
            changed(lambda m: m["parsers"][0]["parse_states"][0]["transitions"][0].update(next_state="no")),
            "parsers[0].parse_states[0].transitions[0].next_state: there is no state 'no'",
        ),
        (
            changed(lambda m: m["parsers"][0]["parse_states"][0]["parser_ops"].append(extract("no"))),
            "parsers[0].parse_states[0].parser_ops[1].parameters[0].value: header 'no' is not declared",
        ),
        (
            changed(lambda m: m.update(register_arrays=[{"name": "r", "id": 0, "size": 1 << 40, "bitwidth": 64}])),
            "register_arrays[0].size: must be from 1 to",
        ),
        (
            changed(lambda m: m.update(calculations=[{"name": "c", "id": 0, "algo": "xxh64", "input": []}])),
            "calculations[0].algo: hash 'xxh64' is not supported; these are: cksum16, crc16",
        ),
        (
            changed(lambda m: m.update(extern_instances=[{"name": "e", "id": 0, "type": "Odd"}])),
            "extern_instances[0]: an extern object of type 'Odd' is not supported",
        ),
    ],
)
def test_the_message_says_where_and_what(made: Json, says: str) -> None:
    assert says in complaint(made)


def test_an_expression_of_any_depth_is_refused_not_fatal() -> None:
    assert "nested too deeply" in complaint(_deep())


def _deep() -> bytes:
    """By hand, for `json.dumps` has a limit of its own."""
    template = json.dumps(in_action(primitive("assign", EGRESS_SPEC, "DEEP")))
    opening = '{"type": "expression", "value": {"op": "+", "right": {"type": "hexstr", "value": "0x1"}, "left": '
    leaf = '{"type": "hexstr", "value": "0x1"}'
    return template.replace('"DEEP"', opening * 5000 + leaf + "}}" * 5000).encode()


# --- The client's P4Info ----------------------------------------------------------------------------------------------


def with_key() -> Json:
    made = document()
    made["pipelines"][0]["tables"][1].update(
        name="t", key=[{"match_type": "exact", "name": "h.a", "target": ["h", "a"], "mask": None}]
    )
    made["pipelines"][0]["tables"][0].update(next_tables={"out": "t"}, base_default_next="t")
    return made


def info_for(made: Json) -> Any:
    return load_json(json.dumps(made).encode()).p4info


def test_p4info_of_the_document_itself_goes_with_it() -> None:
    made = with_key()
    info = info_for(made)
    assert [t.preamble.name for t in info.tables] == ["t"]
    assert load_json(json.dumps(made).encode(), info).p4info is info


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda i: i.tables[0].preamble.__setattr__("name", "u"), "P4Info: has a table u and no table of the program"),
        (lambda i: i.tables[0].match_fields[0].__setattr__("bitwidth", 9), "has 8 bits, 9 in the client's P4Info"),
        (
            lambda i: i.tables[0].match_fields[0].__setattr__("match_type", "LPM"),
            "is exact here, lpm in the client's P4Info",
        ),
        (lambda i: i.tables[0].match_fields.add(id=2), "table t has 1 keys, 2 in the client's P4Info"),
        (lambda i: i.actions[0].preamble.__setattr__("name", "x"), "table t has an action x, which it has not"),
        (lambda i: i.actions[0].params.add(id=1, bitwidth=3), "action run has 1 parameters, 0 in the program"),
        (lambda i: i.tables[0].action_refs.add(id=9), "has an action 0x9, which is not described"),
        (lambda i: i.tables[0].action_refs[0].__setattr__("scope", 7), "table t has an action of unknown scope 7"),
        (
            lambda i: i.tables[0].match_fields[0].__setattr__("match_type", 99),
            "is exact here, 99 in the client's P4Info",
        ),
    ],
)
def test_p4info_of_another_program_is_refused(change: Callable[[Any], Any], says: str) -> None:
    made = with_key()
    info = p4info_pb2.P4Info()
    info.CopyFrom(info_for(made))
    change(info)
    assert says in complaint(made, info)


def test_ids_and_names_of_keys_come_from_the_clients_p4info() -> None:
    made = with_key()
    info = p4info_pb2.P4Info()
    info.CopyFrom(info_for(made))
    info.tables[0].match_fields[0].name = "renamed"
    assert load_json(json.dumps(made).encode(), info).program.tables[0].keys[0].name == "renamed"
