/* typedef names a type; it stays the same type. */
#include "../include/start.p4"
typedef bit<8> byte_t;
typedef bit<32> four_t;
typedef four_t address_t;

header request_t {
    byte_t a;
    address_t b;
}

header reply_t {
    byte_t sum;
    bit<32> address;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> plain = hdr.request.a;
        byte_t named = plain + 1;
        hdr.reply.sum = named;
        hdr.reply.address = hdr.request.b;
    }
}

#include "../include/rest.p4"
