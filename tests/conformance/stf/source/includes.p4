/* A program that includes another file by quotes, relative to itself, and uses what stands there. */
#include "../include/start.p4"
#include "../include/shared_types.p4"

header request_t {
    shared_byte_t a;
}

header reply_t {
    shared_byte_t r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r = hdr.request.a + SHARED_STEP;
    }
}

#include "../include/rest.p4"
