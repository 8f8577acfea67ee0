/* switch over action_run: actions, labels that share a block, default, also after a miss (section 12.7.1). */
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
    action three(bit<8> v) { }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { one; two; three; NoAction; }
    }

    apply {
        switch (t.apply().action_run) {
            one: { hdr.reply.r = 1; }
            two:
            three: { hdr.reply.r = 2; }
            default: { hdr.reply.r = 3; }
        }
    }
}

#include "../include/rest.p4"
