/* Constants of type int have no width until they meet one (section 8.8). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<64> large;
    bit<8> rest;
    bit<8> quotient;
    int<16> below;
    bit<8> power;
}

#include "../include/request_reply.p4"

const int HUGE = 0x123456789abcdef << 80;
const int SEVEN = 7;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.large = HUGE / (1 << 70);
        hdr.reply.rest = HUGE % 251;
        hdr.reply.quotient = (7 * SEVEN - 1) / 5;
        hdr.reply.below = SEVEN - 100;
        hdr.reply.power = (1 << SEVEN) >> 3;
    }
}

#include "../include/rest.p4"
