/* break leaves the innermost loop, continue goes on with its update. */
#include "../include/start.p4"

header request_t {
    bit<8> n;
}

header reply_t {
    bit<8> sum;
    bit<8> outer;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> sum = 0;
        bit<8> outer = 0;
        for (bit<8> i = 0; i < 10; i = i + 1) {
            if (i == 2) { continue; }
            if (i == hdr.request.n) { break; }
            for (bit<8> j in 8w1 .. 5) {
                if (j == 2) { continue; }
                if (j == 4) { break; }
                sum = sum + j;
            }
            outer = outer + 1;
        }
        hdr.reply.sum = sum;
        hdr.reply.outer = outer;
    }
}

#include "../include/rest.p4"
