/* Actions and constants at top level, used by several controls. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

const bit<8> STEP = 2;
action bump(inout bit<8> target, in bit<8> by) {
    target = target + by + STEP;
}
action note_of_all() { }
control Inner(inout bit<8> y, in bit<8> a) {
    apply {
        bump(y, a + STEP);
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;
    action note(bit<8> v) {
        hdr.reply.y = hdr.reply.y & 0xf0 | v;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { note; note_of_all; NoAction; }
        default_action = note_of_all();
    }

    apply {
        bump(hdr.reply.x, hdr.request.a);
        inner.apply(hdr.reply.y, hdr.request.a);
        t.apply();
    }
}

#include "../include/rest.p4"
