/* A table without keys is always a miss: its default action runs. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
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
        actions = { set; NoAction; }
        default_action = set(2);
    }

    apply {
        if (t.apply().hit) { hdr.reply.r = 99; }
    }
}

#include "../include/rest.p4"
