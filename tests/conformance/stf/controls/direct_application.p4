/* C.apply(...) without an instance (section 15.1). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
}

#include "../include/request_reply.p4"

control Step(in bit<8> a, out bit<8> r) {
    apply {
        r = a + 1;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        Step.apply(hdr.request.a, hdr.reply.x);
    }
}

#include "../include/rest.p4"
