/* Exact and lpm keys together: among the entries whose exact key fits, the longest prefix; no priorities. */
#include "../include/start.p4"

header request_t {
    bit<8> e;
    bit<16> l;
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
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
