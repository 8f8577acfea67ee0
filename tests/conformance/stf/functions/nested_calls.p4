/* Functions that call functions, calls as arguments of calls, out arguments through two levels. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
    bit<8> s;
}

#include "../include/request_reply.p4"

bit<8> plus(in bit<8> a, in bit<8> b) {
    return a + b;
}
bit<8> twice(in bit<8> a) {
    return plus(a, a);
}
void inner(in bit<8> a, out bit<8> b) {
    b = twice(a);
}
void outer(in bit<8> a, out bit<8> b) {
    inner(a, b);
    b = b + 1;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r = twice(plus(twice(hdr.request.a), plus(1, 2)));
        outer(hdr.request.a, hdr.reply.s);
    }
}

#include "../include/rest.p4"
