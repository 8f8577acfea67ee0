/* Functions that return structs, headers, tuples and bools, and none; results used at once. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> x;
    bit<8> y;
}
header small_t {
    bit<8> x;
}
pair_t pair(in bit<8> x, in bit<8> y) {
    return { x, y };
}
small_t header_of(in bit<8> x) {
    small_t s;
    s.setValid();
    s.x = x;
    return s;
}
tuple<bit<8>, bool> tuple_of(in bit<8> x) {
    return { x, x > 1 };
}
void nothing(in bit<8> x) {
    return;
}
bool is_small(in bit<8> x) {
    if (x < 16) {
        return true;
    } else {
        return false;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r0 = pair(hdr.request.a, hdr.request.b).y;
        small_t s = header_of(hdr.request.a);
        hdr.reply.r1 = s.isValid() ? s.x : 8w0;
        tuple<bit<8>, bool> t = tuple_of(hdr.request.b);
        hdr.reply.r2 = t[1] ? t[0] : 8w0;
        nothing(hdr.request.a);
        hdr.reply.r3 = is_small(hdr.request.a) ? 8w1 : 8w2;
    }
}

#include "../include/rest.p4"
