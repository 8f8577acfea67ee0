/* A table of size 2 with two entries of the program; a third value misses. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
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
            hdr.request.a: exact;
        }
        actions = { set; NoAction; }
        size = 2;
        const entries = {
            1: set(10);
            2: set(11);
        }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
