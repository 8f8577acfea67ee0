/* exit still copies out and inout parameters back (section 12.5). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> from_action;
    bit<8> from_control;
    bit<8> not_reached;
}

#include "../include/request_reply.p4"

control Inner(in bit<8> a, out bit<8> x, inout bit<8> y) {
    action set(out bit<8> target, in bit<8> value) {
        target = value;
        if (a == 1) { exit; }
        target = value + 10;
    }
    apply {
        y = 0x0b;
        set(x, 0x0a);
        y = 0x15;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    apply {
        inner.apply(hdr.request.a, hdr.reply.from_action, hdr.reply.from_control);
        hdr.reply.not_reached = 1;
    }
}

#include "../include/rest.p4"
