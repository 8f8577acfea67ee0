"""The committed session stubs are those of session.proto, and refuse no older runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hostagent.protocol.services import session_pb2

FOLDER = Path(session_pb2.__file__).parent


def test_the_committed_messages_are_those_of_the_proto(tmp_path: Path) -> None:
    protoc: Any = pytest.importorskip("grpc_tools.protoc")
    from google.protobuf import descriptor_pb2

    root, out = FOLDER.parents[2], tmp_path / "descriptors"
    proto = "hostagent/protocol/services/session.proto"
    assert protoc.main(["protoc", f"--proto_path={root}", f"--descriptor_set_out={out}", proto]) == 0
    (expected,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    committed = descriptor_pb2.FileDescriptorProto.FromString(session_pb2.DESCRIPTOR.serialized_pb)
    for message in (*expected.message_type, *(n for m in expected.message_type for n in m.nested_type)):
        for field in message.field:
            field.ClearField("json_name")  # protoc leaves it out of generated code
    assert committed == expected, "run python -m hostagent.protocol.services.generate"


@pytest.mark.parametrize("name", ["session_pb2.py", "session_pb2.pyi", "session_pb2_grpc.py"])
def test_nothing_generated_refuses_an_older_runtime(name: str) -> None:
    text = (FOLDER / name).read_text()
    for check in ("runtime_version", "GRPC_GENERATED_VERSION", "_registered_method"):
        assert check not in text
