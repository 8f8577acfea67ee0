/* The same bits compared as bit<8>: no sign. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> order;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<1> lt = (bit<1>)(hdr.request.a < hdr.request.b);
        bit<1> le = (bit<1>)(hdr.request.a <= hdr.request.b);
        bit<1> gt = (bit<1>)(hdr.request.a > hdr.request.b);
        bit<1> ge = (bit<1>)(hdr.request.a >= hdr.request.b);
        bit<1> eq = (bit<1>)(hdr.request.a == hdr.request.b);
        bit<1> ne = (bit<1>)(hdr.request.a != hdr.request.b);
        hdr.reply.order = 2w0 ++ lt ++ le ++ gt ++ ge ++ eq ++ ne;
    }
}

#include "../include/rest.p4"
