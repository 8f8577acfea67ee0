/* mark_to_drop acts on the parameter that it is given; the drop reaches the standard metadata when the callee's
 * parameter is copied back: of actions (called, or run by a table), functions and controls, in ingress and in egress. */
#include "../include/start.p4"

header byte_t {
    bit<8> x;
}

struct headers_t {
    byte_t a;
    byte_t b;
}

struct metadata_t { }

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        transition accept;
    }
}

action drop_action(inout standard_metadata_t s) {
    mark_to_drop(s);
}

action drop_and_send(inout standard_metadata_t s) {
    mark_to_drop(s);
    s.egress_spec = 7;
}

action send_and_drop(inout standard_metadata_t s, bit<9> port) {
    s.egress_spec = port;
    mark_to_drop(s);
}

void drop_function(inout standard_metadata_t s) {
    mark_to_drop(s);
}

void drop_early(inout standard_metadata_t s, in bool early) {
    mark_to_drop(s);
    if (early) { return; }
    s.egress_spec = 6;
}

void drop_first(inout standard_metadata_t first, inout standard_metadata_t second) {
    mark_to_drop(first);
}

void drop_second(inout standard_metadata_t first, inout standard_metadata_t second) {
    mark_to_drop(second);
}

action drop_nested(inout standard_metadata_t s) {
    drop_function(s);
}

control DropControl(inout standard_metadata_t s) {
    apply {
        mark_to_drop(s);
    }
}

control DropTable(inout headers_t h, inout standard_metadata_t s) {
    action drop() { mark_to_drop(s); }
    action pass() { }
    table t {
        key = { h.a.x : exact; }
        actions = { drop; pass; }
        const entries = {
            0x0a : drop();
            0x4a : drop();
        }
        default_action = pass();
    }
    apply {
        t.apply();
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    DropControl() dropping;
    DropTable() dropping_table;

    action pass() { }
    table t {
        key = { hdr.a.x : exact; }
        actions = { drop_action(sm); drop_and_send(sm); send_and_drop(sm); pass; }
        const entries = {
            0x07 : drop_action(sm);
            0x08 : drop_and_send(sm);
            0x09 : send_and_drop(sm, 5);
        }
        default_action = pass();
    }
    apply {
        sm.egress_spec = 1;
        if (hdr.a.x == 1) { drop_action(sm); }
        if (hdr.a.x == 2) { drop_and_send(sm); }
        if (hdr.a.x == 3) { send_and_drop(sm, 2); }
        if (hdr.a.x == 4) { drop_function(sm); }
        if (hdr.a.x == 5) { drop_nested(sm); }
        if (hdr.a.x == 6) { dropping.apply(sm); }
        t.apply();
        dropping_table.apply(hdr, sm);
        if (hdr.a.x == 11) { drop_early(sm, true); }
        if (hdr.a.x == 12) { drop_early(sm, false); }
        if (hdr.a.x == 13) { drop_first(sm, sm); }
        if (hdr.a.x == 14) { drop_second(sm, sm); }
        if (hdr.a.x == 15) {
            drop_action(sm);
            sm.egress_spec = 4;
        }
        if (hdr.a.x == 16) {
            sm.mcast_grp = 1;
            drop_action(sm);
        }
        if (hdr.a.x == 17) {
            drop_action(sm);
            sm.mcast_grp = 1;
        }
    }
}

#define OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    DropControl() dropping;
    DropTable() dropping_table;

    action pass() { }
    table t {
        key = { hdr.a.x : exact; }
        actions = { drop_action(sm); drop_and_send(sm); pass; }
        const entries = {
            0x47 : drop_action(sm);
            0x48 : drop_and_send(sm);
        }
        default_action = pass();
    }
    apply {
        if (hdr.a.x == 0x41) { drop_action(sm); }
        if (hdr.a.x == 0x42) { drop_and_send(sm); }
        if (hdr.a.x == 0x44) { drop_function(sm); }
        if (hdr.a.x == 0x45) { drop_nested(sm); }
        if (hdr.a.x == 0x46) { dropping.apply(sm); }
        t.apply();
        dropping_table.apply(hdr, sm);
        if (hdr.a.x == 0x4b) {
            drop_action(sm);
            exit;
        }
    }
}

#include "../include/rest.p4"
