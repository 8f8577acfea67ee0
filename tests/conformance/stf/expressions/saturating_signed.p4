/* |+| and |-| on int<8> stop at 127 and at -128. */
#include "../include/start.p4"

header request_t {
    int<8> a;
    int<8> b;
}

header reply_t {
    int<8> up;
    int<8> down;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.up = hdr.request.a |+| hdr.request.b;
        hdr.reply.down = hdr.request.a |-| hdr.request.b;
    }
}

#include "../include/rest.p4"
