# Generated from session.proto by `python -m hostagent.protocol.services.generate`; do not edit.
# ruff: noqa
# mypy: ignore-errors
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class ClientMessage(_message.Message):
    __slots__ = ("request", "hello", "join", "lease", "frozen", "resumed", "fail", "described", "leave", "statistics", "goodbye", "proceed")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    HELLO_FIELD_NUMBER: _ClassVar[int]
    JOIN_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    RESUMED_FIELD_NUMBER: _ClassVar[int]
    FAIL_FIELD_NUMBER: _ClassVar[int]
    DESCRIBED_FIELD_NUMBER: _ClassVar[int]
    LEAVE_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    GOODBYE_FIELD_NUMBER: _ClassVar[int]
    PROCEED_FIELD_NUMBER: _ClassVar[int]
    request: int
    hello: Hello
    join: Join
    lease: LeaseRequest
    frozen: Frozen
    resumed: Resumed
    fail: Fail
    described: Described
    leave: Leave
    statistics: Statistics
    goodbye: Goodbye
    proceed: Proceed
    def __init__(self, request: _Optional[int] = ..., hello: _Optional[_Union[Hello, _Mapping]] = ..., join: _Optional[_Union[Join, _Mapping]] = ..., lease: _Optional[_Union[LeaseRequest, _Mapping]] = ..., frozen: _Optional[_Union[Frozen, _Mapping]] = ..., resumed: _Optional[_Union[Resumed, _Mapping]] = ..., fail: _Optional[_Union[Fail, _Mapping]] = ..., described: _Optional[_Union[Described, _Mapping]] = ..., leave: _Optional[_Union[Leave, _Mapping]] = ..., statistics: _Optional[_Union[Statistics, _Mapping]] = ..., goodbye: _Optional[_Union[Goodbye, _Mapping]] = ..., proceed: _Optional[_Union[Proceed, _Mapping]] = ...) -> None: ...

class Hello(_message.Message):
    __slots__ = ("process", "host", "pid", "transports", "jobs", "port")
    PROCESS_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    TRANSPORTS_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    process: int
    host: str
    pid: int
    transports: _containers.RepeatedScalarFieldContainer[str]
    jobs: _containers.RepeatedCompositeFieldContainer[Announcement]
    port: int
    def __init__(self, process: _Optional[int] = ..., host: _Optional[str] = ..., pid: _Optional[int] = ..., transports: _Optional[_Iterable[str]] = ..., jobs: _Optional[_Iterable[_Union[Announcement, _Mapping]]] = ..., port: _Optional[int] = ...) -> None: ...

class Announcement(_message.Message):
    __slots__ = ("join", "job", "lease", "frozen")
    JOIN_FIELD_NUMBER: _ClassVar[int]
    JOB_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    FROZEN_FIELD_NUMBER: _ClassVar[int]
    join: Join
    job: int
    lease: Lease
    frozen: bool
    def __init__(self, join: _Optional[_Union[Join, _Mapping]] = ..., job: _Optional[int] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., frozen: _Optional[bool] = ...) -> None: ...

class Join(_message.Message):
    __slots__ = ("group", "rank", "size", "service", "share", "priority")
    GROUP_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    SERVICE_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    group: str
    rank: int
    size: int
    service: Service
    share: int
    priority: int
    def __init__(self, group: _Optional[str] = ..., rank: _Optional[int] = ..., size: _Optional[int] = ..., service: _Optional[_Union[Service, _Mapping]] = ..., share: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class Service(_message.Message):
    __slots__ = ("name", "nonce", "weight", "quota_bytes", "workers")
    NAME_FIELD_NUMBER: _ClassVar[int]
    NONCE_FIELD_NUMBER: _ClassVar[int]
    WEIGHT_FIELD_NUMBER: _ClassVar[int]
    QUOTA_BYTES_FIELD_NUMBER: _ClassVar[int]
    WORKERS_FIELD_NUMBER: _ClassVar[int]
    name: str
    nonce: bytes
    weight: int
    quota_bytes: int
    workers: int
    def __init__(self, name: _Optional[str] = ..., nonce: _Optional[bytes] = ..., weight: _Optional[int] = ..., quota_bytes: _Optional[int] = ..., workers: _Optional[int] = ...) -> None: ...

class LeaseRequest(_message.Message):
    __slots__ = ("job", "timeout_ns")
    JOB_FIELD_NUMBER: _ClassVar[int]
    TIMEOUT_NS_FIELD_NUMBER: _ClassVar[int]
    job: int
    timeout_ns: int
    def __init__(self, job: _Optional[int] = ..., timeout_ns: _Optional[int] = ...) -> None: ...

class Frozen(_message.Message):
    __slots__ = ("job", "round", "lowest_unfinished")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    LOWEST_UNFINISHED_FIELD_NUMBER: _ClassVar[int]
    job: int
    round: int
    lowest_unfinished: int
    def __init__(self, job: _Optional[int] = ..., round: _Optional[int] = ..., lowest_unfinished: _Optional[int] = ...) -> None: ...

class Resumed(_message.Message):
    __slots__ = ("job", "round")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    job: int
    round: int
    def __init__(self, job: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...

class Fail(_message.Message):
    __slots__ = ("job", "cause", "mismatch", "ending")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    MISMATCH_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    job: int
    cause: str
    mismatch: Mismatch
    ending: Failed.Ending
    def __init__(self, job: _Optional[int] = ..., cause: _Optional[str] = ..., mismatch: _Optional[_Union[Mismatch, _Mapping]] = ..., ending: _Optional[_Union[Failed.Ending, str]] = ...) -> None: ...

class Mismatch(_message.Message):
    __slots__ = ("first_hash", "first_child", "second_hash", "second_child")
    FIRST_HASH_FIELD_NUMBER: _ClassVar[int]
    FIRST_CHILD_FIELD_NUMBER: _ClassVar[int]
    SECOND_HASH_FIELD_NUMBER: _ClassVar[int]
    SECOND_CHILD_FIELD_NUMBER: _ClassVar[int]
    first_hash: int
    first_child: int
    second_hash: int
    second_child: int
    def __init__(self, first_hash: _Optional[int] = ..., first_child: _Optional[int] = ..., second_hash: _Optional[int] = ..., second_child: _Optional[int] = ...) -> None: ...

class Described(_message.Message):
    __slots__ = ("job", "operation", "text")
    JOB_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    job: int
    operation: int
    text: str
    def __init__(self, job: _Optional[int] = ..., operation: _Optional[int] = ..., text: _Optional[str] = ...) -> None: ...

class Leave(_message.Message):
    __slots__ = ("job", "next_chunk")
    JOB_FIELD_NUMBER: _ClassVar[int]
    NEXT_CHUNK_FIELD_NUMBER: _ClassVar[int]
    job: int
    next_chunk: int
    def __init__(self, job: _Optional[int] = ..., next_chunk: _Optional[int] = ...) -> None: ...

class Statistics(_message.Message):
    __slots__ = ("job", "counters")
    JOB_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    job: int
    counters: _containers.RepeatedCompositeFieldContainer[Counter]
    def __init__(self, job: _Optional[int] = ..., counters: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ...) -> None: ...

class Counter(_message.Message):
    __slots__ = ("name", "value")
    NAME_FIELD_NUMBER: _ClassVar[int]
    VALUE_FIELD_NUMBER: _ClassVar[int]
    name: str
    value: int
    def __init__(self, name: _Optional[str] = ..., value: _Optional[int] = ...) -> None: ...

class Proceed(_message.Message):
    __slots__ = ("job", "units")
    JOB_FIELD_NUMBER: _ClassVar[int]
    UNITS_FIELD_NUMBER: _ClassVar[int]
    job: int
    units: _containers.RepeatedCompositeFieldContainer[Unit]
    def __init__(self, job: _Optional[int] = ..., units: _Optional[_Iterable[_Union[Unit, _Mapping]]] = ...) -> None: ...

class Unit(_message.Message):
    __slots__ = ("number", "sums")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SUMS_FIELD_NUMBER: _ClassVar[int]
    number: int
    sums: _containers.RepeatedCompositeFieldContainer[Sum]
    def __init__(self, number: _Optional[int] = ..., sums: _Optional[_Iterable[_Union[Sum, _Mapping]]] = ...) -> None: ...

class Sum(_message.Message):
    __slots__ = ("collective", "dtype", "element_bytes", "elements", "average", "exact")
    COLLECTIVE_FIELD_NUMBER: _ClassVar[int]
    DTYPE_FIELD_NUMBER: _ClassVar[int]
    ELEMENT_BYTES_FIELD_NUMBER: _ClassVar[int]
    ELEMENTS_FIELD_NUMBER: _ClassVar[int]
    AVERAGE_FIELD_NUMBER: _ClassVar[int]
    EXACT_FIELD_NUMBER: _ClassVar[int]
    collective: str
    dtype: str
    element_bytes: int
    elements: int
    average: bool
    exact: bool
    def __init__(self, collective: _Optional[str] = ..., dtype: _Optional[str] = ..., element_bytes: _Optional[int] = ..., elements: _Optional[int] = ..., average: _Optional[bool] = ..., exact: _Optional[bool] = ...) -> None: ...

class Goodbye(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ServerMessage(_message.Message):
    __slots__ = ("request", "welcome", "joined", "lease", "refused", "freeze", "resume", "failed", "describe", "peer_left", "left", "collect", "proceed")
    REQUEST_FIELD_NUMBER: _ClassVar[int]
    WELCOME_FIELD_NUMBER: _ClassVar[int]
    JOINED_FIELD_NUMBER: _ClassVar[int]
    LEASE_FIELD_NUMBER: _ClassVar[int]
    REFUSED_FIELD_NUMBER: _ClassVar[int]
    FREEZE_FIELD_NUMBER: _ClassVar[int]
    RESUME_FIELD_NUMBER: _ClassVar[int]
    FAILED_FIELD_NUMBER: _ClassVar[int]
    DESCRIBE_FIELD_NUMBER: _ClassVar[int]
    PEER_LEFT_FIELD_NUMBER: _ClassVar[int]
    LEFT_FIELD_NUMBER: _ClassVar[int]
    COLLECT_FIELD_NUMBER: _ClassVar[int]
    PROCEED_FIELD_NUMBER: _ClassVar[int]
    request: int
    welcome: Welcome
    joined: Joined
    lease: Lease
    refused: Refused
    freeze: Freeze
    resume: Resume
    failed: Failed
    describe: Describe
    peer_left: PeerLeft
    left: Left
    collect: Collect
    proceed: Proceed
    def __init__(self, request: _Optional[int] = ..., welcome: _Optional[_Union[Welcome, _Mapping]] = ..., joined: _Optional[_Union[Joined, _Mapping]] = ..., lease: _Optional[_Union[Lease, _Mapping]] = ..., refused: _Optional[_Union[Refused, _Mapping]] = ..., freeze: _Optional[_Union[Freeze, _Mapping]] = ..., resume: _Optional[_Union[Resume, _Mapping]] = ..., failed: _Optional[_Union[Failed, _Mapping]] = ..., describe: _Optional[_Union[Describe, _Mapping]] = ..., peer_left: _Optional[_Union[PeerLeft, _Mapping]] = ..., left: _Optional[_Union[Left, _Mapping]] = ..., collect: _Optional[_Union[Collect, _Mapping]] = ..., proceed: _Optional[_Union[Proceed, _Mapping]] = ...) -> None: ...

class Welcome(_message.Message):
    __slots__ = ("heartbeat_port",)
    HEARTBEAT_PORT_FIELD_NUMBER: _ClassVar[int]
    heartbeat_port: int
    def __init__(self, heartbeat_port: _Optional[int] = ...) -> None: ...

class Joined(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: int
    def __init__(self, job: _Optional[int] = ...) -> None: ...

class Lease(_message.Message):
    __slots__ = ("job", "child", "children", "epoch", "base", "window", "lanes", "port", "host_mac", "host_ip", "switch_mac", "switch_ip", "zero_checksum_allowed", "short_no_data", "port_number", "first_slot", "row", "message_checksum", "forwards_messages", "aggregator", "shorter_path_slots", "largest_window")
    JOB_FIELD_NUMBER: _ClassVar[int]
    CHILD_FIELD_NUMBER: _ClassVar[int]
    CHILDREN_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    PORT_FIELD_NUMBER: _ClassVar[int]
    HOST_MAC_FIELD_NUMBER: _ClassVar[int]
    HOST_IP_FIELD_NUMBER: _ClassVar[int]
    SWITCH_MAC_FIELD_NUMBER: _ClassVar[int]
    SWITCH_IP_FIELD_NUMBER: _ClassVar[int]
    ZERO_CHECKSUM_ALLOWED_FIELD_NUMBER: _ClassVar[int]
    SHORT_NO_DATA_FIELD_NUMBER: _ClassVar[int]
    PORT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    FIRST_SLOT_FIELD_NUMBER: _ClassVar[int]
    ROW_FIELD_NUMBER: _ClassVar[int]
    MESSAGE_CHECKSUM_FIELD_NUMBER: _ClassVar[int]
    FORWARDS_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    AGGREGATOR_FIELD_NUMBER: _ClassVar[int]
    SHORTER_PATH_SLOTS_FIELD_NUMBER: _ClassVar[int]
    LARGEST_WINDOW_FIELD_NUMBER: _ClassVar[int]
    job: int
    child: int
    children: int
    epoch: int
    base: int
    window: int
    lanes: int
    port: str
    host_mac: int
    host_ip: int
    switch_mac: int
    switch_ip: int
    zero_checksum_allowed: bool
    short_no_data: bool
    port_number: int
    first_slot: int
    row: int
    message_checksum: bool
    forwards_messages: bool
    aggregator: str
    shorter_path_slots: int
    largest_window: int
    def __init__(self, job: _Optional[int] = ..., child: _Optional[int] = ..., children: _Optional[int] = ..., epoch: _Optional[int] = ..., base: _Optional[int] = ..., window: _Optional[int] = ..., lanes: _Optional[int] = ..., port: _Optional[str] = ..., host_mac: _Optional[int] = ..., host_ip: _Optional[int] = ..., switch_mac: _Optional[int] = ..., switch_ip: _Optional[int] = ..., zero_checksum_allowed: _Optional[bool] = ..., short_no_data: _Optional[bool] = ..., port_number: _Optional[int] = ..., first_slot: _Optional[int] = ..., row: _Optional[int] = ..., message_checksum: _Optional[bool] = ..., forwards_messages: _Optional[bool] = ..., aggregator: _Optional[str] = ..., shorter_path_slots: _Optional[int] = ..., largest_window: _Optional[int] = ...) -> None: ...

class Refused(_message.Message):
    __slots__ = ("reason", "text", "missing_ranks", "ending")
    class Reason(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        UNKNOWN: _ClassVar[Refused.Reason]
        INVALID: _ClassVar[Refused.Reason]
        MISSING_RANKS: _ClassVar[Refused.Reason]
        EXHAUSTED: _ClassVar[Refused.Reason]
        JOB_FAILED: _ClassVar[Refused.Reason]
        UNAVAILABLE: _ClassVar[Refused.Reason]
    UNKNOWN: Refused.Reason
    INVALID: Refused.Reason
    MISSING_RANKS: Refused.Reason
    EXHAUSTED: Refused.Reason
    JOB_FAILED: Refused.Reason
    UNAVAILABLE: Refused.Reason
    REASON_FIELD_NUMBER: _ClassVar[int]
    TEXT_FIELD_NUMBER: _ClassVar[int]
    MISSING_RANKS_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    reason: Refused.Reason
    text: str
    missing_ranks: _containers.RepeatedScalarFieldContainer[int]
    ending: Failed.Ending
    def __init__(self, reason: _Optional[_Union[Refused.Reason, str]] = ..., text: _Optional[str] = ..., missing_ranks: _Optional[_Iterable[int]] = ..., ending: _Optional[_Union[Failed.Ending, str]] = ...) -> None: ...

class Freeze(_message.Message):
    __slots__ = ("job", "round")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    job: int
    round: int
    def __init__(self, job: _Optional[int] = ..., round: _Optional[int] = ...) -> None: ...

class Resume(_message.Message):
    __slots__ = ("job", "round", "epoch", "base", "shorter_path_slots", "window", "first_slot")
    JOB_FIELD_NUMBER: _ClassVar[int]
    ROUND_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    SHORTER_PATH_SLOTS_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    FIRST_SLOT_FIELD_NUMBER: _ClassVar[int]
    job: int
    round: int
    epoch: int
    base: int
    shorter_path_slots: int
    window: int
    first_slot: int
    def __init__(self, job: _Optional[int] = ..., round: _Optional[int] = ..., epoch: _Optional[int] = ..., base: _Optional[int] = ..., shorter_path_slots: _Optional[int] = ..., window: _Optional[int] = ..., first_slot: _Optional[int] = ...) -> None: ...

class Failed(_message.Message):
    __slots__ = ("job", "cause", "ending")
    class Ending(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
        __slots__ = ()
        LOST: _ClassVar[Failed.Ending]
        REFUSED: _ClassVar[Failed.Ending]
        MISMATCH: _ClassVar[Failed.Ending]
        TIMEOUT: _ClassVar[Failed.Ending]
    LOST: Failed.Ending
    REFUSED: Failed.Ending
    MISMATCH: Failed.Ending
    TIMEOUT: Failed.Ending
    JOB_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    ENDING_FIELD_NUMBER: _ClassVar[int]
    job: int
    cause: str
    ending: Failed.Ending
    def __init__(self, job: _Optional[int] = ..., cause: _Optional[str] = ..., ending: _Optional[_Union[Failed.Ending, str]] = ...) -> None: ...

class Describe(_message.Message):
    __slots__ = ("job", "operation")
    JOB_FIELD_NUMBER: _ClassVar[int]
    OPERATION_FIELD_NUMBER: _ClassVar[int]
    job: int
    operation: int
    def __init__(self, job: _Optional[int] = ..., operation: _Optional[int] = ...) -> None: ...

class PeerLeft(_message.Message):
    __slots__ = ("job", "rank", "next_chunk")
    JOB_FIELD_NUMBER: _ClassVar[int]
    RANK_FIELD_NUMBER: _ClassVar[int]
    NEXT_CHUNK_FIELD_NUMBER: _ClassVar[int]
    job: int
    rank: int
    next_chunk: int
    def __init__(self, job: _Optional[int] = ..., rank: _Optional[int] = ..., next_chunk: _Optional[int] = ...) -> None: ...

class Left(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: int
    def __init__(self, job: _Optional[int] = ...) -> None: ...

class Collect(_message.Message):
    __slots__ = ("job",)
    JOB_FIELD_NUMBER: _ClassVar[int]
    job: int
    def __init__(self, job: _Optional[int] = ...) -> None: ...

class StatusRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class StatusReply(_message.Message):
    __slots__ = ("aggregator", "aggregator_ready", "aggregator_problem", "slots", "slots_free", "lanes", "jobs", "ports", "forwards_messages", "switch_slots", "switch_slots_free")
    AGGREGATOR_FIELD_NUMBER: _ClassVar[int]
    AGGREGATOR_READY_FIELD_NUMBER: _ClassVar[int]
    AGGREGATOR_PROBLEM_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FIELD_NUMBER: _ClassVar[int]
    SLOTS_FREE_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    JOBS_FIELD_NUMBER: _ClassVar[int]
    PORTS_FIELD_NUMBER: _ClassVar[int]
    FORWARDS_MESSAGES_FIELD_NUMBER: _ClassVar[int]
    SWITCH_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SWITCH_SLOTS_FREE_FIELD_NUMBER: _ClassVar[int]
    aggregator: str
    aggregator_ready: bool
    aggregator_problem: str
    slots: int
    slots_free: int
    lanes: int
    jobs: _containers.RepeatedCompositeFieldContainer[JobStatus]
    ports: _containers.RepeatedCompositeFieldContainer[PortStatus]
    forwards_messages: bool
    switch_slots: int
    switch_slots_free: int
    def __init__(self, aggregator: _Optional[str] = ..., aggregator_ready: _Optional[bool] = ..., aggregator_problem: _Optional[str] = ..., slots: _Optional[int] = ..., slots_free: _Optional[int] = ..., lanes: _Optional[int] = ..., jobs: _Optional[_Iterable[_Union[JobStatus, _Mapping]]] = ..., ports: _Optional[_Iterable[_Union[PortStatus, _Mapping]]] = ..., forwards_messages: _Optional[bool] = ..., switch_slots: _Optional[int] = ..., switch_slots_free: _Optional[int] = ...) -> None: ...

class JobStatus(_message.Message):
    __slots__ = ("job", "group", "size", "state", "cause", "epoch", "base", "window", "first_slot", "restarts", "members", "switch_slots", "share", "priority")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    CAUSE_FIELD_NUMBER: _ClassVar[int]
    EPOCH_FIELD_NUMBER: _ClassVar[int]
    BASE_FIELD_NUMBER: _ClassVar[int]
    WINDOW_FIELD_NUMBER: _ClassVar[int]
    FIRST_SLOT_FIELD_NUMBER: _ClassVar[int]
    RESTARTS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    SWITCH_SLOTS_FIELD_NUMBER: _ClassVar[int]
    SHARE_FIELD_NUMBER: _ClassVar[int]
    PRIORITY_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: str
    size: int
    state: str
    cause: str
    epoch: int
    base: int
    window: int
    first_slot: int
    restarts: int
    members: _containers.RepeatedCompositeFieldContainer[MemberStatus]
    switch_slots: int
    share: int
    priority: int
    def __init__(self, job: _Optional[int] = ..., group: _Optional[str] = ..., size: _Optional[int] = ..., state: _Optional[str] = ..., cause: _Optional[str] = ..., epoch: _Optional[int] = ..., base: _Optional[int] = ..., window: _Optional[int] = ..., first_slot: _Optional[int] = ..., restarts: _Optional[int] = ..., members: _Optional[_Iterable[_Union[MemberStatus, _Mapping]]] = ..., switch_slots: _Optional[int] = ..., share: _Optional[int] = ..., priority: _Optional[int] = ...) -> None: ...

class MemberStatus(_message.Message):
    __slots__ = ("rank", "pid", "host", "port_number", "state")
    RANK_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    HOST_FIELD_NUMBER: _ClassVar[int]
    PORT_NUMBER_FIELD_NUMBER: _ClassVar[int]
    STATE_FIELD_NUMBER: _ClassVar[int]
    rank: int
    pid: int
    host: str
    port_number: int
    state: str
    def __init__(self, rank: _Optional[int] = ..., pid: _Optional[int] = ..., host: _Optional[str] = ..., port_number: _Optional[int] = ..., state: _Optional[str] = ...) -> None: ...

class PortStatus(_message.Message):
    __slots__ = ("number", "spec", "pid")
    NUMBER_FIELD_NUMBER: _ClassVar[int]
    SPEC_FIELD_NUMBER: _ClassVar[int]
    PID_FIELD_NUMBER: _ClassVar[int]
    number: int
    spec: str
    pid: int
    def __init__(self, number: _Optional[int] = ..., spec: _Optional[str] = ..., pid: _Optional[int] = ...) -> None: ...

class ReportRequest(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...

class ReportReply(_message.Message):
    __slots__ = ("jobs", "drops", "aggregators", "problem")
    JOBS_FIELD_NUMBER: _ClassVar[int]
    DROPS_FIELD_NUMBER: _ClassVar[int]
    AGGREGATORS_FIELD_NUMBER: _ClassVar[int]
    PROBLEM_FIELD_NUMBER: _ClassVar[int]
    jobs: _containers.RepeatedCompositeFieldContainer[JobReport]
    drops: _containers.RepeatedCompositeFieldContainer[Counter]
    aggregators: _containers.RepeatedCompositeFieldContainer[AggregatorReport]
    problem: str
    def __init__(self, jobs: _Optional[_Iterable[_Union[JobReport, _Mapping]]] = ..., drops: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ..., aggregators: _Optional[_Iterable[_Union[AggregatorReport, _Mapping]]] = ..., problem: _Optional[str] = ...) -> None: ...

class AggregatorReport(_message.Message):
    __slots__ = ("name", "statistics")
    NAME_FIELD_NUMBER: _ClassVar[int]
    STATISTICS_FIELD_NUMBER: _ClassVar[int]
    name: str
    statistics: str
    def __init__(self, name: _Optional[str] = ..., statistics: _Optional[str] = ...) -> None: ...

class JobReport(_message.Message):
    __slots__ = ("job", "group", "size", "lanes", "verdicts", "members", "verdict_bytes")
    JOB_FIELD_NUMBER: _ClassVar[int]
    GROUP_FIELD_NUMBER: _ClassVar[int]
    SIZE_FIELD_NUMBER: _ClassVar[int]
    LANES_FIELD_NUMBER: _ClassVar[int]
    VERDICTS_FIELD_NUMBER: _ClassVar[int]
    MEMBERS_FIELD_NUMBER: _ClassVar[int]
    VERDICT_BYTES_FIELD_NUMBER: _ClassVar[int]
    job: int
    group: str
    size: int
    lanes: int
    verdicts: _containers.RepeatedCompositeFieldContainer[Counter]
    members: _containers.RepeatedCompositeFieldContainer[MemberReport]
    verdict_bytes: _containers.RepeatedCompositeFieldContainer[Counter]
    def __init__(self, job: _Optional[int] = ..., group: _Optional[str] = ..., size: _Optional[int] = ..., lanes: _Optional[int] = ..., verdicts: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ..., members: _Optional[_Iterable[_Union[MemberReport, _Mapping]]] = ..., verdict_bytes: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ...) -> None: ...

class MemberReport(_message.Message):
    __slots__ = ("rank", "counters", "age_ns")
    RANK_FIELD_NUMBER: _ClassVar[int]
    COUNTERS_FIELD_NUMBER: _ClassVar[int]
    AGE_NS_FIELD_NUMBER: _ClassVar[int]
    rank: int
    counters: _containers.RepeatedCompositeFieldContainer[Counter]
    age_ns: int
    def __init__(self, rank: _Optional[int] = ..., counters: _Optional[_Iterable[_Union[Counter, _Mapping]]] = ..., age_ns: _Optional[int] = ...) -> None: ...
