/* Actions called like functions: in, inout and out parameters, and one without direction, which is an in (section 14.1). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action act(in bit<8> p, inout bit<8> q, out bit<8> r, bit<8> s) {
        q = q + p;
        r = p + s;
    }
    action simple() {
        hdr.reply.r2 = 1;
    }

    apply {
        bit<8> x = hdr.request.a;
        act(hdr.request.b, x, hdr.reply.r0, 3);
        hdr.reply.r1 = x;
        simple();
    }
}

#include "../include/rest.p4"
