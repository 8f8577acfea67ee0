/* bool in headers is one bit, in structs a variable. */
#include "../include/start.p4"

header request_t {
    bool a;
    bool b;
    bit<6> rest;
}

header reply_t {
    bool both;
    bool either;
    bool odd;
    bit<5> rest;
}

#define OWN_METADATA
struct metadata_t {
    bool last;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        meta.last = hdr.request.rest[0:0] == 1;
        hdr.reply.both = hdr.request.a && hdr.request.b;
        hdr.reply.either = hdr.request.a || hdr.request.b;
        hdr.reply.odd = meta.last;
        hdr.reply.rest = 5w31;
    }
}

#include "../include/rest.p4"
