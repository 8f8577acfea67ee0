/* exact, lpm, ternary, range and optional in one table: lpm is just a mask there, priorities decide. */
#include "../include/start.p4"

header request_t {
    bit<8> e;
    bit<16> l;
    bit<8> t;
    bit<8> r;
    bit<8> o;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.e: exact;
            hdr.request.l: lpm;
            hdr.request.t: ternary;
            hdr.request.r: range;
            hdr.request.o: optional;
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
