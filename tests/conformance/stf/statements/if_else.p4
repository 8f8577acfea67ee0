/* Nested conditionals; an else belongs to the nearest if; conditions with && and ||. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (hdr.request.a == 0)
            if (hdr.request.b == 0)
                hdr.reply.r = 1;
            else
                hdr.reply.r = 2;
        else if (hdr.request.a < 10 && hdr.request.b < 10) {
            hdr.reply.r = 3;
        } else if (hdr.request.a > 200 || hdr.request.b > 200) {
            hdr.reply.r = 4;
        } else {
            hdr.reply.r = 5;
        }
    }
}

#include "../include/rest.p4"
