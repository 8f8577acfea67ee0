/* exit ends the whole block, from inside an action that a sub-control's table ran. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> before;
    bit<8> after;
}

#include "../include/request_reply.p4"

control Inner(inout headers_t hdr) {
    action leave() {
        hdr.reply.before = 2;
        exit;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { leave; NoAction; }
        const entries = { 1: leave(); }
    }
    apply {
        t.apply();
        if (hdr.request.a == 2) { hdr.reply.after = 9; }
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Inner() inner;

    apply {
        hdr.reply.before = 1;
        inner.apply(hdr);
        hdr.reply.after = 1;
    }
}

#include "../include/rest.p4"
