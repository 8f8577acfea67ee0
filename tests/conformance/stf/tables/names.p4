/* @name on tables, actions, keys and parameters' controls decides what the control plane says. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    @name("renamed")
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    @name(".top")
    table t {
        key = {
            hdr.request.a: exact @name("the key");
        }
        actions = { set; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
