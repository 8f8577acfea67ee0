/* A table whose action exits, inside an if: neither side runs (section 12.5). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action leave() {
        hdr.reply.r = hdr.reply.r + 16;
        exit;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { leave; NoAction; }
        const entries = {
            1: NoAction();
            2: leave();
        }
    }

    apply {
        hdr.reply.r = 1;
        if (t.apply().hit) {
            hdr.reply.r = hdr.reply.r + 2;
        } else {
            hdr.reply.r = hdr.reply.r + 4;
        }
    }
}

#include "../include/rest.p4"
