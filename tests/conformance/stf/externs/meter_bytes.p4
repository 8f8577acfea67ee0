/* A meter of bytes takes the length on arrival; a packet that is too long for the peak bucket takes nothing. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> colour;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    meter(1, MeterType.bytes) rates;

    apply {
        bit<8> colour;
        rates.execute_meter(0, colour);
        hdr.reply.colour = colour;
    }
}

#include "../include/rest.p4"
