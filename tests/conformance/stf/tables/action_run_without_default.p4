/* switch over action_run where the action is not listed: nothing runs; the default action counts as itself on a miss. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action one() { }
    action two() { }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { one; two; }
        default_action = one();
    }

    apply {
        switch (t.apply().action_run) {
            one: { hdr.reply.r = 1; }
        }
    }
}

#include "../include/rest.p4"
