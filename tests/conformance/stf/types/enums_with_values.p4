/* enum bit<16>: a header field, casts both ways, values without a name. */
#include "../include/start.p4"
enum bit<16> Kind { IPV4 = 0x800, ARP = 0x806, IPV6 = 0x86dd }

header request_t {
    Kind kind;
    bit<8> a;
}

header reply_t {
    Kind kind;
    bit<16> number;
    bit<8> known;
    Kind cast;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.kind = Kind.ARP;
        hdr.reply.number = (bit<16>)hdr.request.kind;
        hdr.reply.known = 0;
        if (hdr.request.kind == Kind.IPV4) { hdr.reply.known = 4; }
        else if (hdr.request.kind == Kind.IPV6) { hdr.reply.known = 6; }
        hdr.reply.cast = (Kind)(8w0x12 ++ hdr.request.a);
    }
}

#include "../include/rest.p4"
