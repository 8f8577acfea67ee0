/* inout arguments that are slices, struct fields and stack elements. */
#include "../include/start.p4"

header request_t {
    bit<16> a;
}

header reply_t {
    bit<16> changed;
    bit<8> field;
}

#include "../include/request_reply.p4"

struct pair_t {
    bit<8> x;
    bit<8> y;
}
header item_t {
    bit<8> x;
}
void bump(inout bit<8> x) {
    x = x + 1;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.changed = hdr.request.a;
        bump(hdr.reply.changed[11:4]);
        pair_t p = { 1, 2 };
        bump(p.y);
        item_t[2] items;
        items[1].setValid();
        items[1].x = 40;
        bump(items[1].x);
        hdr.reply.field = p.y + items[1].x;
    }
}

#include "../include/rest.p4"
