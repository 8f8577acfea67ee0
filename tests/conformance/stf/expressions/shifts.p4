/* Shifting by a run-time amount: beyond the width nothing is left. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
    bit<8> by;
}

header reply_t {
    bit<16> up;
    bit<16> down;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.up = hdr.request.a << hdr.request.by;
        hdr.reply.down = hdr.request.a >> hdr.request.by;
    }
}

#include "../include/rest.p4"
