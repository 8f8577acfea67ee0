/* Registers: 0 at first, read and written within a packet and from packet to packet, by the control plane too. */
#include "../include/start.p4"

header request_t {
    bit<8> i;
    bit<8> add;
}

header reply_t {
    bit<32> before;
    bit<32> after;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<32>>(4) sums;

    apply {
        bit<32> v;
        sums.read(v, (bit<32>)hdr.request.i);
        hdr.reply.before = v;
        sums.write((bit<32>)hdr.request.i, v + (bit<32>)hdr.request.add);
        sums.read(hdr.reply.after, (bit<32>)hdr.request.i);
    }
}

#include "../include/rest.p4"
