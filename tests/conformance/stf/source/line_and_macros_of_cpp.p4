/* __LINE__ is a number; an undefined name in #if is 0; #line changes what __LINE__ says. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<16> line;
    bit<8> zero;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        #if NOT_DEFINED_ANYWHERE
        hdr.reply.zero = 1;
        #endif
        #line 1000
        hdr.reply.line = __LINE__;
    }
}

#include "../include/rest.p4"
