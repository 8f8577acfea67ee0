/* hit, miss and action_run of a table whose actions come from a profile; a miss does nothing. */
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
    action one() { }
    action two() { }
    table t {
        key = { hdr.request.a: exact; }
        actions = { one; two; NoAction; }
        implementation = shared;
    }
    table u {
        key = { hdr.request.a: exact; }
        actions = { one; two; NoAction; }
        implementation = shared;
    }

    apply {
        switch (t.apply().action_run) {
            one: { hdr.reply.r = 1; }
            two: { hdr.reply.r = 2; }
        }
        if (!u.apply().hit) { hdr.reply.r = hdr.reply.r + 16; }
    }
}

#include "../include/rest.p4"
