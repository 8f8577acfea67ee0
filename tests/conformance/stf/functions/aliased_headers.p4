/* The same header for an in and an out parameter: it goes in as it was, and is invalid only inside (section 6.8). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> x;
    bit<8> y;
    bit<8> was_valid;
}

#include "../include/request_reply.p4"

void turn(in request_t from, out request_t to, out bool was_valid) {
    was_valid = to.isValid();
    to.setValid();
    to.a = from.b;
    to.b = from.a;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bool was_valid;
        turn(hdr.request, hdr.request, was_valid);
        hdr.reply = { hdr.request.a, hdr.request.b, (bit<8>)(bit<1>)was_valid };
    }
}

#include "../include/rest.p4"
