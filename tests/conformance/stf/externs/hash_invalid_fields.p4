/* Fields of invalid headers are left out of what is hashed (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<16> crc;
}

#include "../include/request_reply.p4"

header extra_t {
    bit<8> x;
}

control Ingress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    extra_t extra;

    apply {
        if (hdr.request.b != 0) {
            extra.setValid();
            extra.x = hdr.request.b;
        }
        hash(hdr.reply.crc, HashAlgorithm.crc16, 16w0, { hdr.request.a, extra.x, hdr.request.a }, 32w0x10000);
    }
}

#include "../include/rest.p4"
