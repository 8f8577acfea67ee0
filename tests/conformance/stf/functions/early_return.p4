/* return before the end still copies out what was written so far. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> result;
    bit<8> out1;
    bit<8> out2;
}

#include "../include/request_reply.p4"

bit<8> f(in bit<8> a, inout bit<8> x, out bit<8> y) {
    x = x + 1;
    y = 1;
    if (a == 0) { return 1; }
    x = x + 1;
    y = 2;
    return 2;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> x = 7;
        hdr.reply.result = f(hdr.request.a, x, hdr.reply.out2);
        hdr.reply.out1 = x;
    }
}

#include "../include/rest.p4"
