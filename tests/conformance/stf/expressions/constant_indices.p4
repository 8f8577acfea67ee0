/* Stack indices, slices and shift amounts that are constants and constant expressions. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
}

#include "../include/request_reply.p4"

header item_t {
    bit<8> x;
}
const int LAST = 3;
const bit<8> TOP = 15;
const int SHIFT = 2;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        item_t[4] items;
        items[LAST].setValid();
        items[LAST].x = hdr.request.a[TOP:TOP - 7];
        hdr.reply.x = items[2 + 1].x;
        hdr.reply.y = (bit<8>)(hdr.request.a >> SHIFT * 2);
    }
}

#include "../include/rest.p4"
