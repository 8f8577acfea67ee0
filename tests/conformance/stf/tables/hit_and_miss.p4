/* apply().hit and apply().miss, negated and inside larger conditions. */
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
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table u {
        key = { hdr.request.a: exact; }
        actions = { NoAction; }
        const entries = { 1: NoAction(); }
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { set; NoAction; }
    }

    apply {
        if (t.apply().hit) { hdr.reply.r = hdr.reply.r + 1; } else { hdr.reply.r = hdr.reply.r + 2; }
        if (!u.apply().miss && hdr.request.b == 1) {
            hdr.reply.r = hdr.reply.r + 4;
        } else if (hdr.request.b == 1) {
            hdr.reply.r = hdr.reply.r + 8;
        }
    }
}

#include "../include/rest.p4"
