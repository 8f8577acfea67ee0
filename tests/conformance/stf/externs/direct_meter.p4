/* A direct meter runs at every hit, before the action; its colour is in the field that read names. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
    bit<8> seen;
}

#define OWN_METADATA
struct metadata_t {
    bit<2> colour;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_meter<bit<2>>(MeterType.packets) rates;
    action look() {
        rates.read(meta.colour);
        hdr.reply.seen = (bit<8>)meta.colour;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { look; NoAction; }
        meters = rates;
    }

    apply {
        meta.colour = 3;
        t.apply();
        hdr.reply.r = (bit<8>)meta.colour;
    }
}

#include "../include/rest.p4"
