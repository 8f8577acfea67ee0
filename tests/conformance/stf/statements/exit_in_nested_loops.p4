/* exit, and break in an inner loop, inside loops inside conditions. */
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
        for (bit<8> i in 8w0 .. 5) {
            if (i == 3) {
                for (bit<8> j = 0; true; j = j + 1) {
                    if (j == hdr.request.a) { break; }
                    if (j == 10) { exit; }
                    hdr.reply.r = hdr.reply.r + 1;
                }
            }
            hdr.reply.r = hdr.reply.r + 16;
        }
    }
}

#include "../include/rest.p4"
