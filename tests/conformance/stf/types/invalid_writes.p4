/* Writing a field of an invalid header is not seen once setValid has zeroed it, and does not make it valid. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> valid;
    bit<8> zeroed;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t s;
        s.x = hdr.request.a;
        hdr.reply.valid = s.isValid() ? 8w1 : 8w0;
        s.setValid();
        hdr.reply.zeroed = s.x;
    }
}

#include "../include/rest.p4"
