/* Two rates, three colours: unconfigured is green; the peak bucket is asked first, then the committed one; they fill with time. */
#include "../include/start.p4"

header request_t {
    bit<8> i;
}

header reply_t {
    bit<8> colour;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    meter(4, MeterType.packets) rates;

    apply {
        bit<2> colour;
        rates.execute_meter((bit<32>)hdr.request.i, colour);
        hdr.reply.colour = (bit<8>)colour;
    }
}

#include "../include/rest.p4"
