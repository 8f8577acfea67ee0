/* Ternary and lpm keys wider than a machine word. */
#include "../include/start.p4"

header request_t {
    bit<128> a;
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
            hdr.request.a: ternary;
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
