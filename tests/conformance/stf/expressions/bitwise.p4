/* & | ^ ~ on 12 bits. */
#include "../include/start.p4"

header request_t {
    bit<12> a;
    bit<12> b;
}

header reply_t {
    bit<12> both;
    bit<12> either;
    bit<12> one;
    bit<12> none;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.both = hdr.request.a & hdr.request.b;
        hdr.reply.either = hdr.request.a | hdr.request.b;
        hdr.reply.one = hdr.request.a ^ hdr.request.b;
        hdr.reply.none = ~hdr.request.a;
    }
}

#include "../include/rest.p4"
