/* Variables without initializer read 0 in a packet's first use of them (bmv2). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> flag;
    bit<8> field;
    bit<8> err;
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> first;
    bit<8> second;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> x;
        bool flag;
        pair_t p;
        error e;
        hdr.reply.x = x;
        hdr.reply.flag = flag ? 8w1 : 0;
        hdr.reply.field = p.second;
        hdr.reply.err = e == error.NoError ? 8w1 : 0;
        x = hdr.request.a;
        flag = true;
        p.second = 5;
        e = error.NoMatch;
    }
}

#include "../include/rest.p4"
