/* && and || decide from the left; ! and comparisons of bools. */
#include "../include/start.p4"

header request_t {
    bit<1> a;
    bit<1> b;
    bit<6> pad;
}

header reply_t {
    bit<1> both;
    bit<1> either;
    bit<1> neither;
    bit<1> same;
    bit<1> other;
    bit<3> pad;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bool a = hdr.request.a == 1;
        bool b = (bool)hdr.request.b;
        hdr.reply.both = (bit<1>)(a && b);
        hdr.reply.either = (bit<1>)(a || b);
        hdr.reply.neither = (bit<1>)(!a && !b);
        hdr.reply.same = (bit<1>)(a == b);
        hdr.reply.other = (bit<1>)(a != b);
        hdr.reply.pad = 0;
    }
}

#include "../include/rest.p4"
