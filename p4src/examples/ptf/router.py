"""Tests of p4src/router.p4 as PTF users write them: unittest classes, P4Runtime in setUp, testutils for packets.

Run by ``ptf`` (see ``test_harness_ptf.py``), against whatever switch answers at the test parameter ``grpcaddr``;
``p4info`` is its P4Info, as p4c and ``netsum compile --p4info`` write it.
"""

from __future__ import annotations

import queue
from typing import Any

import grpc
import ptf
import ptf.testutils as testutils
from google.protobuf import text_format
from p4.config.v1 import p4info_pb2
from p4.v1 import p4runtime_pb2 as p4rt
from p4.v1 import p4runtime_pb2_grpc
from ptf.base_tests import BaseTest

WAIT_S = 20


class RouterTest(BaseTest):
    def setUp(self) -> None:
        BaseTest.setUp(self)
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        self.channel = grpc.insecure_channel(testutils.test_param_get("grpcaddr"))
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.stream = self.stub.StreamChannel(iter(self.requests.get, None))
        arbitration = p4rt.StreamMessageRequest()
        arbitration.arbitration.device_id = 0
        arbitration.arbitration.election_id.low = 1
        self.requests.put(arbitration)
        next(self.stream)
        with open(testutils.test_param_get("p4info")) as file:
            self.p4info = text_format.Parse(file.read(), p4info_pb2.P4Info())

    def tearDown(self) -> None:
        self.requests.put(None)
        self.channel.close()
        BaseTest.tearDown(self)

    def named(self, kind: str, name: str) -> Any:
        return next(item for item in getattr(self.p4info, kind) if item.preamble.name == name)

    def insert(self, table: str, match: Any, action: str, **params: bytes) -> None:
        """``match`` is a FieldMatch of the table's first key."""
        request = p4rt.WriteRequest(device_id=0)
        request.election_id.low = 1
        update = request.updates.add(type=p4rt.Update.INSERT)
        entry = update.entity.table_entry
        entry.table_id = self.named("tables", table).preamble.id
        match.field_id = 1
        entry.match.append(match)
        found = self.named("actions", action)
        entry.action.action.action_id = found.preamble.id
        for parameter in found.params:
            entry.action.action.params.add(param_id=parameter.id, value=params[parameter.name])
        self.stub.Write(request, timeout=WAIT_S)


class ForwardTest(RouterTest):
    """A route and a port's address: the packet leaves with both addresses and the TTL rewritten."""

    def runTest(self) -> None:
        route = p4rt.FieldMatch()
        route.lpm.value, route.lpm.prefix_len = b"\x0a\x00\x00\x00", 8
        self.insert("RouterIngress.routes", route, "RouterIngress.set_nhop", port=b"\x02", dmac=b"\x02\0\0\0\0\x99")
        port = p4rt.FieldMatch()
        port.exact.value = b"\x02"
        self.insert("RouterEgress.source_macs", port, "RouterEgress.set_source", smac=b"\x02\0\0\0\0\x88")

        sent = testutils.simple_udp_packet(eth_dst="02:00:00:00:00:01", ip_dst="10.1.2.3", ip_ttl=64)
        testutils.send_packet(self, 1, sent)
        wanted = testutils.simple_udp_packet(
            eth_dst="02:00:00:00:00:99", eth_src="02:00:00:00:00:88", ip_dst="10.1.2.3", ip_ttl=63
        )
        testutils.verify_packet(self, wanted, 2)
        testutils.verify_no_other_packets(self)


class NoRouteTest(RouterTest):
    """Nothing leaves without a route."""

    def runTest(self) -> None:
        testutils.send_packet(self, 1, testutils.simple_udp_packet(ip_dst="192.0.2.1"))
        testutils.verify_no_other_packets(self)
