/* Empty statements and declarations, nested blocks, a declaration between statements. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

;
const bit<8> unused = 1;
;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        ;
        { }
        {
            ;
            bit<8> x = 1;
            {
                bit<8> y = x + hdr.request.a;
                hdr.reply.r = y;
            }
        }
        bit<8> x = 5;
        hdr.reply.r = hdr.reply.r + x;
    }
}

#include "../include/rest.p4"
