/* isValid() as a key; a field of an invalid header is 0 in a key, whatever it held (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

header extra_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    extra_t extra;

    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            extra.isValid(): exact;
            extra.x: exact;
        }
        actions = { set; NoAction; }
    }

    apply {
        if (hdr.request.a != 0) {
            extra.setValid();
            extra.x = hdr.request.b;
        }
        if (hdr.request.a == 2) { extra.setInvalid(); }
        t.apply();
    }
}

#include "../include/rest.p4"
