/* Elements of tuples are l-values: assigned, passed as out arguments, cut into slices, of every type. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r1;
    bit<8> r2;
}

header item_t {
    bit<8> x;
}

struct pair_t {
    bit<8> x;
    bit<8> y;
}

#define OWN_METADATA
struct metadata_t {
    tuple<item_t[2], pair_t> kept;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action into(out bit<8> target, in bit<8> value) {
        target = value + 1;
    }

    apply {
        tuple<bit<8>, bit<8>> t = { 1, 2 };
        tuple<bit<8>, bit<8>> u = t;
        t[0] = hdr.request.a;
        into(t[1], hdr.request.b);
        t[1][7:4] = u[1][3:0];
        meta.kept[0][1].setValid();
        meta.kept[0][1].x = t[0] + u[0];
        meta.kept[1].y = meta.kept[0][1].x;
        hdr.reply.r1 = meta.kept[1].y;
        hdr.reply.r2 = t[1];
    }
}

#include "../include/rest.p4"
