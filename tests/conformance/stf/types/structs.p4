/* Nested structs: assignment copies, members are independent, == compares all members. */
#include "../include/start.p4"
struct inner_t {
    bit<8> x;
    bool flag;
}
struct outer_t {
    inner_t first;
    bit<8> second;
}

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> copied;
    bit<8> kept;
    bit<8> same;
    bit<8> other;
}

#define OWN_METADATA
struct metadata_t {
    outer_t kept;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        outer_t one;
        one.first.x = hdr.request.a;
        one.first.flag = true;
        one.second = hdr.request.b;
        outer_t two = one;
        one.first.x = 99;
        hdr.reply.copied = two.first.x;
        meta.kept = two;
        hdr.reply.kept = meta.kept.first.flag ? meta.kept.second : 8w0;
        hdr.reply.same = meta.kept == two ? 8w1 : 8w0;
        hdr.reply.other = one == two ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
