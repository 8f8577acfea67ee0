/* identity takes the first eight bytes as a number (bmv2); fewer bytes, that many. */
#include "../include/start.p4"

header request_t {
    bit<80> a;
}

header reply_t {
    bit<64> long;
    bit<16> short;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hash(hdr.reply.long, HashAlgorithm.identity, 64w0, { hdr.request.a }, 64w0xffffffffffffffff);
        hash(hdr.reply.short, HashAlgorithm.identity, 16w0, { hdr.request.a[15:0] }, 32w0x10000);
    }
}

#include "../include/rest.p4"
