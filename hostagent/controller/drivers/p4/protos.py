"""P4Runtime's messages and stubs, under any protobuf release.

Every published `p4runtime` distribution (1.3.0 to 1.6.0) holds code made by protoc 3.18, which protobuf 4 and later
refuse to run. The serialized descriptors inside are sound, so where the plain import fails the messages are built from
those and registered under their usual names. `emulator.native.p4protos` does the same for the switch's side; in one
process both give the same classes.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

_IN_ORDER_OF_IMPORT = (
    "p4.config.v1.p4types_pb2",
    "p4.config.v1.p4info_pb2",
    "p4.v1.p4data_pb2",
    "p4.v1.p4runtime_pb2",
)


def _serialized_descriptor(name: str) -> bytes:
    """The FileDescriptorProto inside an installed generated module, without running the module."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ImportError(f"{name} not found: install the package p4runtime", name=name)
    for node in ast.walk(ast.parse(Path(spec.origin).read_bytes())):
        if isinstance(node, ast.keyword) and node.arg == "serialized_pb" and isinstance(node.value, ast.Constant):
            descriptor = node.value.value
            if isinstance(descriptor, bytes):
                return descriptor
    raise ImportError(f"{spec.origin} holds no serialized descriptor: reinstall p4runtime", name=name)


def _built(name: str) -> ModuleType:
    from google.protobuf import any_pb2, descriptor_pool  # noqa: F401  any.proto must be in the pool
    from google.protobuf.internal import builder
    from google.rpc import status_pb2  # noqa: F401  so must status.proto

    module = ModuleType(name)
    descriptor = descriptor_pool.Default().AddSerializedFile(_serialized_descriptor(name))
    vars(module)["DESCRIPTOR"] = descriptor
    builder.BuildMessageAndEnumDescriptors(descriptor, vars(module))
    builder.BuildTopDescriptorsAndMessages(descriptor, name, vars(module))
    sys.modules[name] = module
    parent, _, leaf = name.rpartition(".")
    setattr(importlib.import_module(parent), leaf, module)
    return module


def _load(name: str) -> Any:
    try:
        return sys.modules.get(name) or importlib.import_module(name)
    except TypeError:  # "Descriptors cannot be created directly"
        return _built(name)


p4types_pb2, p4info_pb2, p4data_pb2, p4runtime_pb2 = (_load(name) for name in _IN_ORDER_OF_IMPORT)
p4runtime_pb2_grpc: Any = importlib.import_module("p4.v1.p4runtime_pb2_grpc")
