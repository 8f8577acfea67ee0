/* random: between its bounds, both included; lo above hi leaves the result alone (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> lo;
    bit<8> hi;
}

header reply_t {
    bit<8> inside;
    bit<8> same;
    bit<8> kept;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> r;
        random(r, hdr.request.lo, hdr.request.hi);
        hdr.reply.inside = r >= hdr.request.lo && r <= hdr.request.hi ? 8w1 : 8w0;
        random(hdr.reply.same, hdr.request.lo, hdr.request.lo);
        bit<8> kept = 0x55;
        random(kept, 8w9, 8w3);
        hdr.reply.kept = kept;
    }
}

#include "../include/rest.p4"
