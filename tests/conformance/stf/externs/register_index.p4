/* An index outside the register: nothing is written, and what is read into keeps its value (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> i;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<8>>(4) cells;

    apply {
        bit<8> v = 0x77;
        cells.write((bit<32>)hdr.request.i, 5);
        cells.read(v, (bit<32>)hdr.request.i);
        hdr.reply.r = v;
    }
}

#include "../include/rest.p4"
