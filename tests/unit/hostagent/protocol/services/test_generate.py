"""The committed stubs are those of their .proto files, and refuse no older runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from google.protobuf import descriptor_pb2
from grpc_tools import protoc

from hostagent.protocol.services import aggregator_pb2, session_pb2

FOLDER = Path(session_pb2.__file__).parent


@pytest.mark.parametrize("module", [session_pb2, aggregator_pb2], ids=lambda module: module.__name__.rpartition(".")[2])
def test_the_committed_messages_are_those_of_the_proto(tmp_path: Path, module: Any) -> None:
    root, out = FOLDER.parents[2], tmp_path / "descriptors"
    proto = module.DESCRIPTOR.name
    assert protoc.main(["protoc", f"--proto_path={root}", f"--descriptor_set_out={out}", proto]) == 0
    (expected,) = descriptor_pb2.FileDescriptorSet.FromString(out.read_bytes()).file
    committed = descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
    for message in (*expected.message_type, *(n for m in expected.message_type for n in m.nested_type)):
        for field in message.field:
            field.ClearField("json_name")  # protoc leaves it out of generated code
    assert committed == expected, "run python -m hostagent.protocol.services.generate"


@pytest.mark.parametrize("ending", ["_pb2.py", "_pb2.pyi", "_pb2_grpc.py"])
@pytest.mark.parametrize("service", ["session", "aggregator"])
def test_nothing_generated_refuses_an_older_runtime(service: str, ending: str) -> None:
    text = (FOLDER / f"{service}{ending}").read_text()
    for check in ("runtime_version", "GRPC_GENERATED_VERSION", "_registered_method"):
        assert check not in text
