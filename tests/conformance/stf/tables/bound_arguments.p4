/* Actions whose parameters have directions: bound in the table's list, the rest comes from the control plane (section 14.2.1.2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action add(in bit<8> x, out bit<8> y, bit<8> v) {
        y = x + v;
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { add(hdr.request.a, hdr.reply.r); }
        default_action = add(hdr.request.a, hdr.reply.r, 0);
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
