/* Headers are equal when both are invalid, or both valid with equal fields (section 8.17). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t one;
        small_t two;
        bit<8> r = 0;
        if (one == two) { r[0:0] = 1; }
        one.setValid();
        one.x = hdr.request.a;
        if (one != two) { r[1:1] = 1; }
        two.setValid();
        two.x = hdr.request.b;
        if (one == two) { r[2:2] = 1; }
        one.setInvalid();
        two.setInvalid();
        if (one == two) { r[3:3] = 1; }
        hdr.reply.r = r;
    }
}

#include "../include/rest.p4"
