/* |+| and |-| on bit<8> stop at 255 and at 0. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> up;
    bit<8> down;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.up = hdr.request.a |+| hdr.request.b;
        hdr.reply.down = hdr.request.a |-| hdr.request.b;
    }
}

#include "../include/rest.p4"
