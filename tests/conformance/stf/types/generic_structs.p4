/* struct S<T> with its argument written and inferred, also nested. */
#include "../include/start.p4"
struct box_t<T> {
    T value;
    bool full;
}

header request_t {
    bit<8> a;
    bit<16> b;
}

header reply_t {
    bit<8> x;
    bit<16> y;
    bit<8> z;
}

#define OWN_METADATA
struct metadata_t {
    box_t<bit<8>> kept;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        box_t<bit<8>> one = { hdr.request.a, true };
        box_t<box_t<bit<16>>> two = { { hdr.request.b, false }, true };
        hdr.reply.x = one.value;
        hdr.reply.y = two.value.value;
        meta.kept = one;
        hdr.reply.z = meta.kept.full && !two.value.full ? meta.kept.value + 1 : 8w0;
    }
}

#include "../include/rest.p4"
