/* Functions of one name, told apart by the number of arguments. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
}

#include "../include/request_reply.p4"

bit<8> f() {
    return 1;
}
bit<8> f(in bit<8> x) {
    return x + 1;
}
bit<8> f(in bit<8> x, in bit<8> y) {
    return x + y;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.r0 = f();
        hdr.reply.r1 = f(hdr.request.a);
        hdr.reply.r2 = f(hdr.request.a, 3);
    }
}

#include "../include/rest.p4"
