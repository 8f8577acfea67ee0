/* Tables and actions of nested controls have names through all instances. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

control Leaf(in bit<8> a, inout bit<8> r) {
    action set(bit<8> v) {
        r = v;
    }
    table t {
        key = { a: exact; }
        actions = { set; NoAction; }
    }
    apply {
        t.apply();
    }
}
control Branch(in bit<8> a, inout bit<8> r) {
    Leaf() leaf;
    apply {
        leaf.apply(a, r);
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Branch() first;
    Branch() second;

    apply {
        first.apply(hdr.request.a, hdr.reply.x);
        second.apply(hdr.request.a, hdr.reply.y);
    }
}

#include "../include/rest.p4"
