/* An index outside the meter leaves the result as it was. */
#include "../include/start.p4"

header request_t {
    bit<8> i;
}

header reply_t {
    bit<8> colour;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    meter(2, MeterType.packets) rates;

    apply {
        bit<8> colour = 0x55;
        rates.execute_meter((bit<32>)hdr.request.i, colour);
        hdr.reply.colour = colour;
    }
}

#include "../include/rest.p4"
