/* mark_to_drop of a copy of the standard metadata changes the copy only: egress_spec becomes 511 and mcast_grp 0 in it,
 * the packet is dropped when these are copied back. */
#include "../include/start.p4"

header what_t {
    bit<8> x;
    bit<16> spec;
    bit<16> group;
}

struct headers_t {
    what_t a;
}

struct holder_t {
    bit<8> note;
    standard_metadata_t s;
}

struct metadata_t {
    holder_t held;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        transition accept;
    }
}

bit<9> spec_of_dropped(in standard_metadata_t s) {
    standard_metadata_t inner = s;
    mark_to_drop(inner);
    return inner.egress_spec;
}

void looks_only(out bit<9> spec, in standard_metadata_t s) {
    standard_metadata_t inner = s;
    mark_to_drop(inner);
    spec = inner.egress_spec;
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        sm.egress_spec = 1;
        sm.mcast_grp = 0;
        if (hdr.a.x == 7) { sm.mcast_grp = 1; }
        standard_metadata_t s = sm;
        if (hdr.a.x != 0) {
            s.mcast_grp = 9;
            mark_to_drop(s);
        }
        hdr.a.spec = (bit<16>)s.egress_spec;
        hdr.a.group = s.mcast_grp;
        if (hdr.a.x == 2) { sm = s; }
        if (hdr.a.x == 3) { sm.egress_spec = s.egress_spec; }
        if (hdr.a.x == 4) {
            sm = s;
            sm.egress_spec = 4;
        }
        if (hdr.a.x == 5) {
            meta.held.s = sm;
            mark_to_drop(meta.held.s);
            hdr.a.spec = (bit<16>)meta.held.s.egress_spec;
        }
        if (hdr.a.x == 6) {
            meta.held.s = sm;
            mark_to_drop(meta.held.s);
            sm = meta.held.s;
        }
        if (hdr.a.x == 8) { hdr.a.spec = (bit<16>)spec_of_dropped(sm); }
        if (hdr.a.x == 9) {
            mark_to_drop(sm);
            s = sm;
            sm.egress_spec = 2;
            hdr.a.spec = (bit<16>)s.egress_spec;
        }
        if (hdr.a.x == 10) {
            s = sm;
            mark_to_drop(sm);
            sm = s;
        }
        if (hdr.a.x == 11) {
            bit<9> spec;
            looks_only(spec, sm);
            hdr.a.spec = (bit<16>)spec;
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        standard_metadata_t s = sm;
        if (hdr.a.x == 12) {
            mark_to_drop(s);
            hdr.a.group = (bit<16>)s.egress_port;
        }
        if (hdr.a.x == 13) {
            mark_to_drop(s);
            sm = s;
        }
        if (hdr.a.x == 14) {
            mark_to_drop(sm);
            sm = s;
        }
    }
}

#include "../include/rest.p4"
