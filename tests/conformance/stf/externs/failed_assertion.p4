/* assert and assume that fail: the packet is dropped and counted (an exception of ours: bmv2 ends). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        assert(hdr.request.a != 1);
        assume(hdr.request.a < 100);
        hdr.reply.r = 1;
    }
}

#include "../include/rest.p4"
