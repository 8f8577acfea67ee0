/* Actions call other actions and functions; parameters stay apart. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
}

#include "../include/request_reply.p4"

bit<8> next(in bit<8> a) {
    return a + 1;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action inner(in bit<8> a, out bit<8> r) {
        r = next(a);
    }
    action outer(in bit<8> b) {
        bit<8> a;
        inner(b, a);
        hdr.reply.r1 = a;
        inner(a, hdr.reply.r0);
    }

    apply {
        outer(hdr.request.a);
    }
}

#include "../include/rest.p4"
