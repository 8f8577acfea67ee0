/* Over many draws a bound of 0 to 1 gives both. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> seen;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.seen = 0;
        for (bit<8> i in 8w0 .. 99) {
            bit<8> r;
            random(r, 8w0, 8w1);
            hdr.reply.seen = hdr.reply.seen | (8w1 << r);
        }
    }
}

#include "../include/rest.p4"
