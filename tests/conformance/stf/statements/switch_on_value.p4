/* switch over a bit<16>: single labels, labels that share a block, no default taken (section 12.7). */
#include "../include/start.p4"

header request_t {
    bit<16> a;
}

header reply_t {
    bit<8> r;
    bit<8> s;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r = 0xff;
        switch (hdr.request.a) {
            0x86dd: { hdr.reply.r = 1; }
            0x0800:
            0x0802: { hdr.reply.r = 2; }
            0xcafe: { hdr.reply.r = 3; }
            default: { hdr.reply.r = 4; }
        }
        switch (hdr.request.a[3:0]) {
            1: { hdr.reply.s = 1; }
            2:
            3: { hdr.reply.s = 2; }
            4:
        }
    }
}

#include "../include/rest.p4"
