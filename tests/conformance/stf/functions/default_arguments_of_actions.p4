/* Parameters of actions with default values: in calls, in a table's list, in entries and default actions (section 6.8). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r1;
    bit<8> r2;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action direct(inout bit<8> target, in bit<8> x = 5, bit<8> y = 7) {
        target = x + y;
    }

    action bound(inout bit<8> target, in bit<8> x = 0x20, bit<8> y = 3) {
        target = x + y;
    }

    table t {
        key = {
            hdr.request.b: exact;
        }
        actions = { bound(hdr.reply.r2); }
        const entries = {
            1: bound(hdr.reply.r2, 4);
            2: bound(5);
            3: bound();
        }
        const default_action = bound(hdr.reply.r2);
    }

    apply {
        if (hdr.request.a == 0) {
            direct(hdr.reply.r1);
        } else if (hdr.request.a == 1) {
            direct(hdr.reply.r1, hdr.request.b);
        } else if (hdr.request.a == 2) {
            direct(hdr.reply.r1, hdr.request.b, 9);
        } else {
            direct(y = 1, target = hdr.reply.r1);
        }
        t.apply();
    }
}

#include "../include/rest.p4"
