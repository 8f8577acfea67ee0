/* A weight is made of further copies of the member, with handles of their own behind the others (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_selector(HashAlgorithm.identity, 16, 8) chosen;
    action set(bit<8> v) {
        hdr.reply.r = v;
    }
    table t {
        key = {
            hdr.request.a: exact;
            hdr.request.b: selector;
        }
        actions = { set; NoAction; }
        implementation = chosen;
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
