/* A control's variables with initializers start anew at each application. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

control Step(in bit<8> a, out bit<8> r) {
    bit<8> sum = 10;
    apply {
        sum = sum + a;
        r = sum;
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Step() step;

    apply {
        step.apply(hdr.request.a, hdr.reply.x);
        step.apply(hdr.request.a, hdr.reply.y);
    }
}

#include "../include/rest.p4"
