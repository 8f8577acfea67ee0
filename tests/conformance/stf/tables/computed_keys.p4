/* Keys that are masks, slices, casts and sums: computed just before the look-up, named by what is written or by @name. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.a & 0x0ff0: exact;
            hdr.request.a[3:0]: exact;
            hdr.request.b + 1: exact @name("next");
            (bit<16>)hdr.request.b: ternary @name("wide");
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
