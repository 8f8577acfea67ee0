/* Headers and structs of headers passed in, inout and out; an out header starts invalid. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}
bool fill(out small_t s, in bit<8> x) {
    bool was = s.isValid();
    if (x != 0) {
        s.setValid();
        s.x = x;
    }
    return was;
}
void change(inout small_t s) {
    s.x = s.x + 1;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t s;
        hdr.reply.r0 = fill(s, hdr.request.a) ? 8w1 : 8w2;
        hdr.reply.r1 = s.isValid() ? s.x : 8w0;
        change(s);
        hdr.reply.r2 = s.x;
        bool was = fill(s, 0);
        hdr.reply.r3 = s.isValid() ? 8w1 : (was ? 8w2 : 8w3);
    }
}

#include "../include/rest.p4"
