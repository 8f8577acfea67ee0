"""Small documents in bmv2's JSON, written by hand, and a switch that runs them."""

from __future__ import annotations

import json
from typing import Any

from emulator.bmv2json.program import load_json
from emulator.ports.batch import FrameBatch
from emulator.ports.cable.memory import MemoryPort
from emulator.ports.spec import parse_port
from emulator.switch.core import Switch
from emulator.v1model.compiled import compile_program
from emulator.v1model.metadata import WIDTHS_BITS

Json = dict[str, Any]


def hexstr(value: int) -> Json:
    return {"type": "hexstr", "value": hex(value)}


def field(header: str, name: str) -> Json:
    return {"type": "field", "value": [header, name]}


def header(name: str) -> Json:
    return {"type": "header", "value": name}


def op(name: str, left: Any, right: Any, cond: Any = None) -> Json:
    value = {"op": name, "left": left, "right": right}
    if cond is not None:
        value["cond"] = cond
    return {"type": "expression", "value": value}


def primitive(name: str, *parameters: Any) -> Json:
    return {"op": name, "parameters": list(parameters)}


EGRESS_SPEC = field("standard_metadata", "egress_spec")


def document(primitives: list[Json] | None = None, **parts: Any) -> Json:
    """Extracts ``h`` (a: 8 bits, b: 8, c: 16) and runs ``primitives`` in ingress, then sends to port 1."""
    action = {"name": "run", "id": 0, "runtime_data": [], "primitives": primitives or []}
    out = {"name": "out", "id": 1, "runtime_data": [], "primitives": [primitive("assign", EGRESS_SPEC, hexstr(1))]}
    made: Json = {
        "program": "made.p4",
        "__meta__": {"version": [2, 23]},
        "header_types": [
            {"name": "h_t", "id": 0, "fields": [["a", 8, False], ["b", 8, False], ["c", 16, False]]},
            {"name": "scalars_t", "id": 1, "fields": [["x", 8, False], ["wide", 32, False], ["s", 8, True]]},
            {"name": "standard", "id": 2, "fields": [[n, w, False] for n, w in WIDTHS_BITS.items()]},
        ],
        "headers": [
            {"name": "scalars", "id": 0, "header_type": "scalars_t", "metadata": True},
            {"name": "standard_metadata", "id": 1, "header_type": "standard", "metadata": True},
            {"name": "h", "id": 2, "header_type": "h_t", "metadata": False},
        ],
        "errors": [["NoError", 0]],
        "parsers": [
            {"name": "parser", "id": 0, "init_state": "start", "parse_states": [state("start", [extract("h")])]}
        ],
        "deparsers": [{"name": "deparser", "id": 0, "order": ["h"]}],
        "actions": [out, {**action, "id": 0}],
        "pipelines": [
            {"name": "ingress", "id": 0, "init_table": "tbl_out",
             "tables": [keyless("tbl_out", 1, "out", "tbl_run"), keyless("tbl_run", 0, "run", None)],
             "conditionals": []},
            {"name": "egress", "id": 1, "init_table": None, "tables": [], "conditionals": []},
        ],
        "checksums": [],
    }  # fmt: skip
    made.update(parts)
    return made


def state(name: str, operations: list[Json], following: str | None = None, **more: Any) -> Json:
    default = {"type": "default", "value": None, "mask": None, "next_state": following}
    return {"name": name, "id": 0, "parser_ops": operations, "transitions": [default], "transition_key": [], **more}


def extract(name: str, kind: str = "regular") -> Json:
    return {"op": "extract", "parameters": [{"type": kind, "value": name}]}


def keyless(name: str, action: int, action_name: str, following: str | None) -> Json:
    default = {"action_id": action, "action_const": True, "action_data": [], "action_entry_const": True}
    return {
        "name": name, "id": 0, "key": [], "match_type": "exact", "type": "simple", "max_size": 1024,
        "action_ids": [action], "actions": [action_name], "base_default_next": following,
        "next_tables": {action_name: following}, "default_entry": default,
    }  # fmt: skip


class Running:
    """A document on a switch with four ports."""

    def __init__(self, made: Json, engine: str, p4info: Any = None) -> None:
        self.loaded = load_json(json.dumps(made).encode(), p4info)
        self.switch = Switch()
        self.ports = [MemoryPort(parse_port(f"{n}=memory:p{n}"), self.switch.ports) for n in range(4)]
        self.switch.load(compile_program(self.loaded, engine=engine))

    def send(self, frame: bytes, port: int = 0) -> dict[int, list[bytes]]:
        """What comes out, by port."""
        batch = FrameBatch(1)
        batch.append(frame, port)
        self.switch.process(batch, 1_000_000)
        for each in self.ports:
            each.flush()
        return {p.number: found for p in self.ports if (found := list(p.received()))}

    def one(self, text: str) -> str:
        """The one frame that comes out of port 1, in hexadecimal."""
        found = self.send(bytes.fromhex(text))
        assert list(found) == [1], found
        (frame,) = found[1]
        return frame.hex()


A, B, C, X = field("h", "a"), field("h", "b"), field("h", "c"), field("scalars", "x")


def follow(made: Json, table: int, name: str) -> None:
    """After that table of ingress comes what is called so."""
    found = made["pipelines"][0]["tables"][table]
    found["base_default_next"] = name
    found["next_tables"] = dict.fromkeys(found["next_tables"], name)


def assign(target: Json, value: Json) -> Json:
    return primitive("assign", target, value)


def with_unions() -> Json:
    """A stack ``us`` of two unions {one: 1 byte, two: 2 bytes}; a zero byte in front of each says one, else two."""
    made = document()
    made["header_types"] += [
        {"name": "tag_t", "id": 3, "fields": [["t", 8]]},
        {"name": "one_t", "id": 4, "fields": [["v", 8]]},
        {"name": "two_t", "id": 5, "fields": [["v", 16]]},
    ]
    names = ["us[0].one", "us[0].two", "us[1].one", "us[1].two"]
    made["headers"] += [
        {"name": n, "id": 10 + i, "header_type": n.partition(".")[2] + "_t"} for i, n in enumerate(names)
    ]
    made["headers"].append({"name": "tag", "id": 20, "header_type": "tag_t"})
    made["header_union_types"] = [{"name": "u_t", "id": 0, "headers": [["one", "one_t"], ["two", "two_t"]]}]
    made["header_unions"] = [
        {"name": f"us[{i}]", "id": i, "union_type": "u_t", "header_ids": [10 + 2 * i, 11 + 2 * i]} for i in range(2)
    ]
    made["header_union_stacks"] = [{"name": "us", "id": 0, "union_type": "u_t", "size": 2, "header_union_ids": [0, 1]}]
    choose = [
        {"type": "hexstr", "value": "0x00", "mask": None, "next_state": "get_one"},
        {"type": "hexstr", "value": "0x01", "mask": None, "next_state": "get_two"},
    ]
    last = {"type": "union_stack_field", "value": ["us", "one", "v"]}
    made["parsers"][0]["parse_states"] = [
        state("start", [extract("h")], "tagged"),
        {
            "name": "tagged",
            "parser_ops": [extract("tag")],
            "transitions": choose,
            "transition_key": [field("tag", "t")],
        },
        state("get_one", [union_extract("one"), {"op": "set", "parameters": [A, last]}], "tagged"),
        state("get_two", [union_extract("two")], "tagged"),
    ]
    made["deparsers"][0]["order"] = ["h", "us"]
    return made


def union_extract(member: str) -> Json:
    return {"op": "extract", "parameters": [{"type": "union_stack", "value": ["us", member]}]}


def with_table(kind: str, entries: list[Json], mask: str | None = None, name: str = "h.a", **more: Any) -> Json:
    made = document()
    made["actions"].append(
        {"name": "put", "id": 5, "runtime_data": [{"name": "v", "bitwidth": 16}],
         "primitives": [assign(C, {"type": "runtime_data", "value": 0})]}
    )  # fmt: skip
    table = {
        "name": "t", "id": 3, "key": [{"match_type": kind, "name": name, "target": ["h", "a"], "mask": mask}],
        "match_type": kind, "type": "simple", "max_size": 16, "action_ids": [5, 0], "actions": ["put", "run"],
        "base_default_next": None, "next_tables": {"put": None, "run": None}, "entries": entries,
        "default_entry": {"action_id": 0, "action_const": False, "action_data": []}, **more,
    }  # fmt: skip
    ingress = made["pipelines"][0]
    ingress["tables"] = [ingress["tables"][0], table]
    follow(made, 0, "t")
    return made
