/* Fields of hundreds of bits. */
#include "../include/start.p4"

header request_t {
    bit<512> a;
}

header reply_t {
    bit<512> twice;
    bit<512> turned;
    bit<32> middle;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.twice = hdr.request.a + hdr.request.a;
        hdr.reply.turned = hdr.request.a[255:0] ++ hdr.request.a[511:256];
        hdr.reply.middle = hdr.request.a[271:240];
    }
}

#include "../include/rest.p4"
