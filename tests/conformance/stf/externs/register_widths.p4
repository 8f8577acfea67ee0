/* Registers of 1, 7, 33, 48, 100 and signed bits, and of bool by way of bit<1>. */
#include "../include/start.p4"

header request_t {
    bit<1> a;
    bit<7> b;
    bit<33> c;
    int<7> d;
    bit<100> e;
    bit<4> pad;
}

header reply_t {
    bit<1> a;
    bit<7> b;
    bit<33> c;
    int<7> d;
    bit<100> e;
    bit<4> pad;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    register<bit<1>>(2) ra;
    register<bit<7>>(2) rb;
    register<bit<33>>(2) rc;
    register<int<7>>(2) rd;
    register<bit<100>>(2) re;

    apply {
        bit<1> a;
        bit<7> b;
        bit<33> c;
        int<7> d;
        bit<100> e;
        ra.read(a, 1);
        rb.read(b, 1);
        rc.read(c, 1);
        rd.read(d, 1);
        re.read(e, 1);
        hdr.reply = { a, b, c, d, e, 0 };
        ra.write(1, hdr.request.a);
        rb.write(1, hdr.request.b);
        rc.write(1, hdr.request.c);
        rd.write(1, hdr.request.d >> 1);
        re.write(1, hdr.request.e);
    }
}

#include "../include/rest.p4"
