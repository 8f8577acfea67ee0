# Generated from aggregator.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class WatchRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class Description(_message.Message):
    __slots__ = ("kind", "incarnation", "slots", "lanes", "jobs", "known", "place", "ports", "forwards_messages")
    KIND_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    KNOWN_FIELD_NUMBER: _ClassVar[int]
    PLACE_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    FORWARDS_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    kind: str
    incarnation: int
    slots: int
    lanes: int
    jobs: int
    known: _containers.RepeatedCompositeFieldContainer[KnownJob]
    place: Place
    ports: _containers.RepeatedScalarFieldContainer[int]
    forwards_messages: bool
    def __init__(self, kind: _Optional[str] = ..., incarnation: _Optional[int] = ..., slots: _Optional[int] = ..., lanes: _Optional[int] = ..., jobs: _Optional[int] = ..., known: _Optional[_Iterable[_Union[KnownJob, _Mapping]]] = ..., place: _Optional[_Union[Place, _Mapping]] = ..., ports: _Optional[_Iterable[int]] = ..., forwards_messages: _Optional[bool] = ...) -> None: ...

class Place(_message.Message):
    __slots__ = ("rack", "peers")
    RACK_FIELD_NUMBER: _ClassVar[int]
    PEERS_FIELD_NUMBER: _ClassVar[int]
    rack: int
    peers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, rack: _Optional[int] = ..., peers: _Optional[_Iterable[int]] = ...) -> None: ...

class KnownJob(_message.Message):
    __slots__ = ("job", "epoch")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    job: int
    epoch: int
    def __init__(self, job: _Optional[int] = ..., epoch: _Optional[int] = ...) -> None: ...

class InstallRequest(_message.Message):
    __slots__ = ("terms", "incarnation")
    TERMS_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    terms: JobTerms
    incarnation: int
    def __init__(self, terms: _Optional[_Union[JobTerms, _Mapping]] = ..., incarnation: _Optional[int] = ...) -> None: ...

class JobTerms(_message.Message):
    __slots__ = ("job", "epoch", "base", "window_log2", "first_slot", "lanes", "no_data_short", "aggregator_mac", "aggregator_ip", "children", "service", "spread", "parent")
    JOB_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_LOG2_FIELD_NUMBER: _ClassVar[int]
    FIRST_SLOT_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    NO_DATA_SHORT_FIELD_NUMBER: _ClassVar[int]
    AGGREGATOR_MAC_FIELD_NUMBER: _ClassVar[int]
    AGGREGATOR_IP_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    SPREAD_FIELD_NUMBER: _ClassVar[int]
    PARENT_FIELD_NUMBER: _ClassVar[int]
    job: int
    epoch: int
    base: int
    window_log2: int
    first_slot: int
    lanes: int
    no_data_short: bool
    aggregator_mac: int
    aggregator_ip: int
    children: _containers.RepeatedCompositeFieldContainer[ChildTerms]
    service: ServiceTerms
    spread: Spread
    parent: Parent
    def __init__(self, job: _Optional[int] = ..., epoch: _Optional[int] = ..., base: _Optional[int] = ..., window_log2: _Optional[int] = ..., first_slot: _Optional[int] = ..., lanes: _Optional[int] = ..., no_data_short: _Optional[bool] = ..., aggregator_mac: _Optional[int] = ..., aggregator_ip: _Optional[int] = ..., children: _Optional[_Iterable[_Union[ChildTerms, _Mapping]]] = ..., service: _Optional[_Union[ServiceTerms, _Mapping]] = ..., spread: _Optional[_Union[Spread, _Mapping]] = ..., parent: _Optional[_Union[Parent, _Mapping]] = ...) -> None: ...

class Parent(_message.Message):
    __slots__ = ("port", "mac", "ip", "own_mac", "own_ip", "zero_checksum_allowed", "workers")
    PORT_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    OWN_MAC_FIELD_NUMBER: _ClassVar[int]
    OWN_IP_FIELD_NUMBER: _ClassVar[int]
    ZERO_CHECKSUM_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    port: int
    mac: int
    ip: int
    own_mac: int
    own_ip: int
    zero_checksum_allowed: bool
    workers: _containers.RepeatedScalarFieldContainer[int]
    def __init__(self, port: _Optional[int] = ..., mac: _Optional[int] = ..., ip: _Optional[int] = ..., own_mac: _Optional[int] = ..., own_ip: _Optional[int] = ..., zero_checksum_allowed: _Optional[bool] = ..., workers: _Optional[_Iterable[int]] = ...) -> None: ...

class Spread(_message.Message):
    __slots__ = ("way", "racks")
    WAY_FIELD_NUMBER: _ClassVar[int]
    RACKS_FIELD_NUMBER: _ClassVar[int]
    way: str
    racks: _containers.RepeatedCompositeFieldContainer[RackPart]
    def __init__(self, way: _Optional[str] = ..., racks: _Optional[_Iterable[_Union[RackPart, _Mapping]]] = ...) -> None: ...

class RackPart(_message.Message):
    __slots__ = ("rack", "children")
    RACK_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    rack: int
    children: int
    def __init__(self, rack: _Optional[int] = ..., children: _Optional[int] = ...) -> None: ...

class ChildTerms(_message.Message):
    __slots__ = ("child", "bit", "port", "mac", "ip", "zero_checksum_allowed", "stands_for")
    CHILD_FIELD_NUMBER: _ClassVar[int]
    BIT_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    MAC_FIELD_NUMBER: _ClassVar[int]
    IP_FIELD_NUMBER: _ClassVar[int]
    ZERO_CHECKSUM_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    STANDS_FOR_FIELD_NUMBER: _ClassVar[int]
    child: int
    bit: int
    port: int
    mac: int
    ip: int
    zero_checksum_allowed: bool
    stands_for: int
    def __init__(self, child: _Optional[int] = ..., bit: _Optional[int] = ..., port: _Optional[int] = ..., mac: _Optional[int] = ..., ip: _Optional[int] = ..., zero_checksum_allowed: _Optional[bool] = ..., stands_for: _Optional[int] = ...) -> None: ...

class ServiceTerms(_message.Message):
    __slots__ = ("name", "nonce", "workers", "weight", "quota_bytes", "options")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_BYTES_FIELD_NUMBER: _ClassVar[int]
    OPTIONS_FIELD_NUMBER: _ClassVar[int]
    name: str
    nonce: bytes
    workers: int
    weight: int
    quota_bytes: int
    options: str
    def __init__(self, name: _Optional[str] = ..., nonce: _Optional[bytes] = ..., workers: _Optional[int] = ..., weight: _Optional[int] = ..., quota_bytes: _Optional[int] = ..., options: _Optional[str] = ...) -> None: ...

class InstallReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class RemoveRequest(_message.Message):
    __slots__ = ("job", "incarnation")
    JOB_FIELD_NUMBER: _ClassVar[int]
    INCARNATION_FIELD_NUMBER: _ClassVar[int]
    job: int
    incarnation: int
    def __init__(self, job: _Optional[int] = ..., incarnation: _Optional[int] = ...) -> None: ...

class RemoveReply(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CountersRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class CountersReply(_message.Message):
    __slots__ = ("jobs", "drops")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    DROPS_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobCounters]
    drops: _containers.RepeatedCompositeFieldContainer[Count]
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobCounters, _Mapping]]] = ..., drops: _Optional[_Iterable[_Union[Count, _Mapping]]] = ...) -> None: ...

class JobCounters(_message.Message):
    __slots__ = ("job", "frames", "bytes", "children")
    JOB_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    BYTES_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    job: int
    frames: _containers.RepeatedCompositeFieldContainer[Count]
    bytes: _containers.RepeatedCompositeFieldContainer[Count]
    children: _containers.RepeatedCompositeFieldContainer[ChildCounters]
    def __init__(self, job: _Optional[int] = ..., frames: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., bytes: _Optional[_Iterable[_Union[Count, _Mapping]]] = ..., children: _Optional[_Iterable[_Union[ChildCounters, _Mapping]]] = ...) -> None: ...

class ChildCounters(_message.Message):
    __slots__ = ("child", "frames")
    CHILD_FIELD_NUMBER: _ClassVar[int]
    FRAMES_FIELD_NUMBER: _ClassVar[int]
    child: int
    frames: _containers.RepeatedCompositeFieldContainer[Count]
    def __init__(self, child: _Optional[int] = ..., frames: _Optional[_Iterable[_Union[Count, _Mapping]]] = ...) -> None: ...

class Count(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class StatisticsRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatisticsReply(_message.Message):
    __slots__ = ("json",)
    JSON_FIELD_NUMBER: _ClassVar[int]
    json: str
    def __init__(self, json: _Optional[str] = ...) -> None: ...
