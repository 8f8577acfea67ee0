// Explicit congestion notification (RFC 3168) from an egress queue, for v1model, by random early detection (RED): the
// probability that a packet is marked grows from 0, where it finds `least` packets in its port's queue, to 1 at
// `certain`. A packet whose sender knows no marks is dropped instead, with the same probability, so that all flows have
// the same signal (RFC 7567, section 4.2.1). Queues without an entry, or a default action, do nothing of it.

const bit<8> ECN_FIELD = 3;
const bit<8> ECN_MARKED = 3; // CE; 0 is Not-ECT

control MarkCongestion(inout bit<8> dscp_ecn, inout standard_metadata_t standard_metadata) {
    bit<19> drawn = 0x7FFFF;

    action mark_between(bit<19> least, bit<19> certain) {
        random(drawn, least, certain);
    }

    table queues {
        key = { standard_metadata.egress_port: exact @name("port"); }
        actions = { mark_between; NoAction; }
        default_action = NoAction();
        size = 512;
    }

    apply {
        if (standard_metadata.enq_qdepth > 0) {
            queues.apply();
            if (drawn < standard_metadata.enq_qdepth) {
                if ((dscp_ecn & ECN_FIELD) == 0) {
                    mark_to_drop(standard_metadata);
                } else {
                    dscp_ecn = dscp_ecn | ECN_MARKED;
                }
            }
        }
    }
}
