/* Operators bind as the grammar's table says: * before +, shifts before &, & before ^ before |, those before comparisons. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
    bit<8> c;
}

header reply_t {
    bit<8> sum;
    bit<8> bits;
    bit<8> shift;
    bit<8> same;
    bit<8> logic;
    bit<16> joined;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.sum = hdr.request.a + hdr.request.b * hdr.request.c;
        hdr.reply.bits = hdr.request.a | hdr.request.b ^ hdr.request.c & 8w0x0f;
        hdr.reply.shift = hdr.request.a & hdr.request.b << 1 + 1;
        hdr.reply.same = hdr.request.a & 8w1 == hdr.request.b & 8w1 ? 8w1 : 8w0;
        hdr.reply.logic = hdr.request.a == 1 || hdr.request.b == 1 && hdr.request.c == 1 ? 8w1 : 8w0;
        hdr.reply.joined = hdr.request.a ++ hdr.request.b | 16w1;
    }
}

#include "../include/rest.p4"
