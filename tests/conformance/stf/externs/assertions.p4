/* assert and assume that hold do nothing. */
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
        assert(hdr.request.isValid());
        assume(hdr.request.a != 0);
        hdr.reply.r = 1;
    }
}

#include "../include/rest.p4"
