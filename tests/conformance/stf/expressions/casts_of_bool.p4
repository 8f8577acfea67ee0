/* bool and bit<1> turn into each other. */
#include "../include/start.p4"

header request_t {
    bit<1> a;
    bit<7> rest;
}

header reply_t {
    bit<1> same;
    bit<1> inverse;
    bit<1> chosen;
    bit<5> pad;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bool set = (bool)hdr.request.a;
        hdr.reply.same = (bit<1>)set;
        hdr.reply.inverse = (bit<1>)!set;
        hdr.reply.chosen = (bit<1>)(set && hdr.request.rest == 5);
        hdr.reply.pad = 0;
    }
}

#include "../include/rest.p4"
