/* Type parameters, written and inferred. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<16> b;
}

header reply_t {
    bit<8> x;
    bit<16> y;
    bit<8> z;
    bit<16> w;
}

#include "../include/request_reply.p4"

T pick<T>(in bool first, in T a, in T b) {
    return first ? a : b;
}
void exchange<T>(inout T a, inout T b) {
    T t = a;
    a = b;
    b = t;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.x = pick<bit<8>>(true, hdr.request.a, 1);
        hdr.reply.y = pick(false, hdr.request.b, hdr.request.b + 1);
        hdr.reply.z = pick(hdr.request.a > 5, hdr.request.a, 8w5);
        bit<16> w;
        exchange(w, hdr.request.b);
        hdr.reply.w = w + hdr.request.b;
    }
}

#include "../include/rest.p4"
