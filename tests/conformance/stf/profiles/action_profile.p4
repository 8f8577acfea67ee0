/* A table with an action profile: entries lead to members, which several entries share. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_profile(16) shared;
    action set(bit<8> v) {
        hdr.reply.r = v;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { set; NoAction; }
        implementation = shared;
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
