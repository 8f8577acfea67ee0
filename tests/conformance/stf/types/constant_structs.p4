/* Constants that are structs, tuples and lists, and what is computed from their fields. */
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

struct pair_t {
    bit<8> x;
    bit<8> y;
}
const pair_t P = { 3, 5 };
const tuple<bit<8>, bool> T = { 8, true };
const bit<8> SUM = P.x + P.y;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.x = P.x + hdr.request.a;
        pair_t p = P;
        hdr.reply.y = p.y;
        hdr.reply.z = T[0] + SUM;
    }
}

#include "../include/rest.p4"
