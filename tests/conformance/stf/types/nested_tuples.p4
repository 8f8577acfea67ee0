/* Tuples in tuples and in structs, generic ones included. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

struct box_t<T> {
    T value;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        tuple<tuple<bit<8>, bit<8>>, bit<8>> t = { { hdr.request.a, 2 }, 3 };
        box_t<tuple<bit<8>, bool>> b = { { hdr.request.a, true } };
        hdr.reply.x = t[0][0] + t[0][1] + t[1];
        hdr.reply.y = b.value[1] ? b.value[0] : 8w0;
    }
}

#include "../include/rest.p4"
