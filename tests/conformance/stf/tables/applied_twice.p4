/* A table applied twice for one packet sees what the first action changed. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action move(bit<8> to) {
        hdr.request.a = to;
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { move; NoAction; }
    }

    apply {
        t.apply();
        t.apply();
        hdr.reply.r = hdr.request.a;
    }
}

#include "../include/rest.p4"
