/* log_msg of a struct: its fields in order. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

struct inner_t {
    bit<8> y;
    bool z;
}
struct pair_t {
    bit<8> x;
    inner_t inner;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        pair_t p = { hdr.request.a, { hdr.request.b, true } };
        log_msg("pair {} {} {}", { p.x, p.inner.y, p.inner.z });
        hdr.reply.r = 1;
    }
}

#include "../include/rest.p4"
