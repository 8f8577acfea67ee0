/* Reads and writes of one register in one pass happen in the order of the program. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<8>>(2) r;
    action swap() {
        bit<8> a;
        bit<8> b;
        r.read(a, 0);
        r.read(b, 1);
        r.write(0, b);
        r.write(1, a);
    }

    apply {
        r.write(0, hdr.request.a);
        r.read(hdr.reply.x, 0);
        r.write(0, hdr.reply.x + 1);
        r.read(hdr.reply.y, 0);
        swap();
        r.read(hdr.reply.z, 0);
    }
}

#include "../include/rest.p4"
