/* e[low +: width], as a value and as a target. */
#include "../include/start.p4"

header request_t {
    bit<32> a;
}

header reply_t {
    bit<8> byte1;
    bit<5> five;
    bit<3> pad;
    bit<32> changed;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.byte1 = hdr.request.a[8 +: 8];
        hdr.reply.five = hdr.request.a[3 +: 5];
        hdr.reply.pad = 0;
        hdr.reply.changed = hdr.request.a;
        hdr.reply.changed[16 +: 8] = 8w0x5a;
    }
}

#include "../include/rest.p4"
