"""P4Runtime's messages come out of the installed package whatever protobuf is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from emulator.rpc import p4protos


def test_usual_names_and_ours_are_the_same_classes() -> None:
    from p4.config.v1 import p4info_pb2
    from p4.v1 import p4data_pb2, p4runtime_pb2

    assert p4runtime_pb2.Entity is p4protos.p4runtime_pb2.Entity
    assert p4info_pb2.P4Info is p4protos.p4info_pb2.P4Info
    assert p4data_pb2.P4Data is p4protos.p4data_pb2.P4Data


def test_messages_survive_the_wire() -> None:
    entity = p4protos.p4runtime_pb2.Entity()
    entity.table_entry.match.add(field_id=1).exact.value = b"\x01"
    assert p4protos.p4runtime_pb2.Entity.FromString(entity.SerializeToString()) == entity
    assert p4protos.p4runtime_pb2.Update.Type.Value("INSERT") == 1
    assert p4protos.p4info_pb2.MatchField.LPM == 3


@pytest.mark.parametrize("implementation", ["python", "upb"])
def test_both_protobuf_implementations(implementation: str) -> None:
    code = "from emulator.rpc.p4protos import p4runtime_pb2 as p; print(p.Entity().WhichOneof('entity'))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION": implementation},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "None\n", done.stderr


def test_a_missing_package_is_named() -> None:
    with pytest.raises(ImportError, match=r"p4\.config\.v1\.nothing_pb2 not found: install the package p4runtime"):
        p4protos._serialized_descriptor("p4.config.v1.nothing_pb2")
