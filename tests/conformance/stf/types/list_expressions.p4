/* Lists as arguments and initializers, compared with each other and with structs. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> x;
    bit<8> y;
}

bit<8> sum(in pair_t p) {
    return p.x + p.y;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        pair_t p = { hdr.request.a, hdr.request.b };
        bit<8> r = 0;
        if (p == { 8w1, 8w2 }) { r[0:0] = 1; }
        if (sum({ hdr.request.a, hdr.request.b }) == 3) { r[1:1] = 1; }
        if (sum({ y = 1, x = hdr.request.a }) == 2) { r[2:2] = 1; }
        hdr.reply.r = r;
    }
}

#include "../include/rest.p4"
