/* for over a range, whose ends are evaluated once, before the first turn. */
#include "../include/start.p4"

header request_t {
    bit<8> low;
    bit<8> high;
}

header reply_t {
    bit<16> sum;
    bit<8> turns;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<16> sum = 0;
        bit<8> turns = 0;
        bit<8> high = hdr.request.high;
        for (bit<8> i in hdr.request.low .. high) {
            sum = sum + (bit<16>)i;
            turns = turns + 1;
            high = 0;
        }
        for (bit<16> i in 16w1 .. 3) {
            sum = sum + i * 1000;
        }
        hdr.reply.sum = sum;
        hdr.reply.turns = turns;
    }
}

#include "../include/rest.p4"
