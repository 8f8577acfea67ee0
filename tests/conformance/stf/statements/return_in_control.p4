/* return leaves the control that it stands in, not its caller. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> inner;
    bit<8> outer;
}

#include "../include/request_reply.p4"

control Inner(in bit<8> a, out bit<8> r) {
    apply {
        r = 1;
        if (a == 1) { return; }
        r = 2;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    apply {
        inner.apply(hdr.request.a, hdr.reply.inner);
        if (hdr.request.a == 2) { return; }
        hdr.reply.outer = 1;
    }
}

#include "../include/rest.p4"
