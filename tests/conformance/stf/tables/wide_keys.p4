/* Keys of 128 and 3 bits together, and action data of 128 bits. */
#include "../include/start.p4"

header request_t {
    bit<128> a;
    bit<3> b;
    bit<5> pad;
}

header reply_t {
    bit<128> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action wide(bit<128> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            hdr.request.a: exact;
            hdr.request.b: exact;
        }
        actions = { wide; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
