/* A constant default action with constant arguments of the program. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

const bit<8> ANSWER = 41;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { set; NoAction; }
        const default_action = set(ANSWER + 1);
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
