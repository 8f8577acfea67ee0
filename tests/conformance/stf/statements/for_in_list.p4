/* for over the elements of a list, evaluated once. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> sum;
    bit<8> last;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> sum = 0;
        for (bit<8> x in (list<bit<8>>){ hdr.request.a, hdr.request.b, 7 }) {
            sum = sum + x;
            hdr.request.b = 0;
            hdr.reply.last = x;
        }
        hdr.reply.sum = sum;
    }
}

#include "../include/rest.p4"
