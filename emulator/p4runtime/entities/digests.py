"""DigestEntry: which digests are sent, and how (P4Runtime, "DigestEntry"). Their samples: ``stream/digests``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from emulator.p4runtime.entities.p4data import check_supported
from emulator.p4runtime.entities.tables import DELETE, INSERT
from emulator.p4runtime.errors import Code, RequestError, invalid
from emulator.p4runtime.pipeline.schema import DigestSchema
from emulator.p4runtime.stream.digests import DigestConfig
from emulator.p4runtime.view import Change, Undo, View
from emulator.rpc.p4protos import p4runtime_pb2

DRAIN = 1 << 20
"""More than any queue of samples holds."""


def prepare_digest_write(view: View, update_type: int, message: Any) -> Change:
    digest = view.schema.digest(message.digest_id)

    def remember() -> Undo:
        old = view.notes.digests.get(digest.id)
        return lambda: _set(view, digest.id, old)

    if update_type == DELETE:
        return Change(lambda: _delete(view, digest), remember)
    config = _config_from_proto(digest, message.config)
    check_supported(view.schema, digest.type_spec, f"digest {digest.name}")
    if update_type == INSERT:
        return Change(lambda: _insert(view, digest, config), remember)
    return Change(lambda: _modify(view, digest, config), remember)


def _config_from_proto(digest: DigestSchema, config: Any) -> DigestConfig:
    values = (config.max_timeout_ns, config.max_list_size, config.ack_timeout_ns)
    if min(values) < 0:
        raise invalid(f"digest {digest.name}: time-outs and sizes cannot be negative")
    return DigestConfig(*values)


def _insert(view: View, digest: DigestSchema, config: DigestConfig) -> None:
    if digest.id in view.notes.digests:
        raise RequestError(Code.ALREADY_EXISTS, f"digest {digest.name} is switched on already")
    view.control.take_digests(digest.id, DRAIN)  # samples from before the digest was configured
    _set(view, digest.id, config)


def _modify(view: View, digest: DigestSchema, config: DigestConfig) -> None:
    _find(view, digest)
    _set(view, digest.id, config)


def _delete(view: View, digest: DigestSchema) -> None:
    _find(view, digest)
    _set(view, digest.id, None)


def _find(view: View, digest: DigestSchema) -> DigestConfig:
    if digest.id not in view.notes.digests:
        raise RequestError(Code.NOT_FOUND, f"digest {digest.name} is not switched on: insert its DigestEntry first")
    return view.notes.digests[digest.id]


def _set(view: View, digest_id: int, config: DigestConfig | None) -> None:
    if config is None:
        view.notes.digests.pop(digest_id, None)
    else:
        view.notes.digests[digest_id] = config


def read_digest(view: View, message: Any) -> Iterator[Any]:
    """The configuration of one digest, or with id 0 of all that are switched on."""
    if message.digest_id:
        view.schema.digest(message.digest_id)
    for digest_id, config in sorted(view.notes.digests.items()):
        if message.digest_id in (0, digest_id):
            entity = p4runtime_pb2.Entity()
            entity.digest_entry.digest_id = digest_id
            target = entity.digest_entry.config
            target.SetInParent()
            target.max_timeout_ns, target.max_list_size = config.max_timeout_ns, config.max_list_size
            target.ack_timeout_ns = config.ack_timeout_ns
            yield entity
