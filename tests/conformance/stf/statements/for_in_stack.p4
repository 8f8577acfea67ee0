/* for over the elements of a header stack, valid or not. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> sum;
    bit<8> turns;
}

#include "../include/request_reply.p4"

header item_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        item_t[3] items;
        items[0].setValid();
        items[0].x = hdr.request.a;
        items[2].setValid();
        items[2].x = hdr.request.b;
        bit<8> sum = 0;
        bit<8> turns = 0;
        for (item_t item in items) {
            turns = turns + 1;
            if (item.isValid()) { sum = sum + item.x; }
        }
        hdr.reply.sum = sum;
        hdr.reply.turns = turns;
    }
}

#include "../include/rest.p4"
