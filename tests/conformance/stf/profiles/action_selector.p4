/* An action selector: H(selector keys) mod the number of members chooses; the width in its constructor is ignored (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    @max_group_size(32w16)
    action_selector(HashAlgorithm.crc16, 16, 4) chosen;
    action set(bit<8> v) {
        hdr.reply.r = v;
    }
    table t {
        key = {
            hdr.request.a: exact;
            hdr.request.b: selector;
            hdr.request.c: selector;
        }
        actions = { set; NoAction; }
        implementation = chosen;
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
