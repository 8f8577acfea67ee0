/* Lists of one element as keys and as arguments of entries' actions. */
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
    action set(bit<8> v, bit<8> w) {
        hdr.reply.r1 = v;
        hdr.reply.r2 = w;
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { set; }
        const entries = {
            { 8w1 }: set({ 7 }, 2);
            { (2) }: set(8, { 3 });
        }
        const default_action = set({ 0xee }, 0xff);
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
