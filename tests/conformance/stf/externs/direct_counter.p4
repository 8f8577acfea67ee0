/* A direct counter counts every hit of its table and no miss, whether or not the action calls count (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    direct_counter(CounterType.packets_and_bytes) hits;
    action counted(bit<8> v) {
        hits.count();
        hdr.reply.r = v;
    }
    action silent(bit<8> v) {
        hdr.reply.r = v;
    }
    table t {
        key = { hdr.request.a: exact; }
        actions = { counted; silent; NoAction; }
        counters = hits;
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
