/* hash() counts fields of invalid headers with their bits: 0 if the header was never valid, else what was left there.
 * p4c copies the items of the list to temporaries before bmv2's hash, which would leave such fields out. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

header reply_t {
    bit<16> crc;
    bit<16> sum;
    bit<16> identity;
}

#include "../include/request_reply.p4"

header extra_t {
    bit<4> high;
    bit<4> low;
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    extra_t extra;
    extra_t[2] stack;

    apply {
        if (hdr.request.b != 0) {
            extra.setValid();
            extra.x = hdr.request.b;
            extra.low = 5;
            stack[1].setValid();
            stack[1].x = hdr.request.b;
        }
        if (hdr.request.c != 0) {
            extra.setInvalid();
            stack[1].setInvalid();
        }
        hash(hdr.reply.crc, HashAlgorithm.crc16, 16w0, { hdr.request.a, extra.x, hdr.request.a }, 32w0x10000);
        hash(hdr.reply.sum, HashAlgorithm.csum16, 16w0, { hdr.request.a, extra.high, extra.low, extra.x, hdr.request.a }, 32w0x10000);
        hash(hdr.reply.identity, HashAlgorithm.identity, 16w0, { stack[1].x, 8w7 }, 32w0x10000);
    }
}

#include "../include/rest.p4"
