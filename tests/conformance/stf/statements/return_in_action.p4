/* return in an action, also from within nested conditions. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
    bit<8> after;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action act() {
        hdr.reply.r = 1;
        if (hdr.request.a == 0) { return; }
        if (hdr.request.a > 1) {
            if (hdr.request.a > 10) {
                hdr.reply.r = 3;
                return;
            }
            hdr.reply.r = 5;
        } else {
            hdr.reply.r = 2;
        }
    }

    apply {
        act();
        hdr.reply.after = 1;
    }
}

#include "../include/rest.p4"
