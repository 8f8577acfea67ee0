/* Tuples: lists assigned, elements by index, copied and compared. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<16> b;
}

header reply_t {
    bit<8> first;
    bit<16> second;
    bit<8> same;
    bit<8> changed;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        tuple<bit<8>, bit<16>> t = { hdr.request.a, hdr.request.b };
        tuple<bit<8>, bit<16>> u = t;
        hdr.reply.first = t[0];
        hdr.reply.second = u[1];
        hdr.reply.same = t == u ? 8w1 : 8w0;
        u = { u[0] + 1, u[1] };
        hdr.reply.changed = t == u ? 8w255 : u[0];
    }
}

#include "../include/rest.p4"
