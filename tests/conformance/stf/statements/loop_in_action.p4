/* Loops inside actions, with return in their midst. */
#include "../include/start.p4"

header request_t {
    bit<8> n;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action search(in bit<8> wanted, out bit<8> root) {
        root = 0xff;
        for (bit<8> i = 0; i < 16; i += 1) {
            if (i * i >= wanted) {
                root = i;
                return;
            }
        }
    }

    apply {
        search(hdr.request.n, hdr.reply.r);
    }
}

#include "../include/rest.p4"
