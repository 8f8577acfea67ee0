/* cond ? a : b, nested and of wide values; only the chosen side counts. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<32> b;
}

header reply_t {
    bit<8> grade;
    bit<32> value;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.grade = hdr.request.a < 10 ? 8w1 : (hdr.request.a < 100 ? 8w2 : 8w3);
        hdr.reply.value = (hdr.request.a == 0 ? hdr.request.b : ~hdr.request.b) + 1;
    }
}

#include "../include/rest.p4"
