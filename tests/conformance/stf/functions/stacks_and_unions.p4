/* Stacks and unions as parameters, in and inout. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> sum;
    bit<8> left;
    bit<8> kind;
}

#include "../include/request_reply.p4"

header item_t {
    bit<8> x;
}
header other_t {
    bit<8> x;
}
header_union either_t {
    item_t one;
    other_t two;
}
bit<8> sum(in item_t[2] items) {
    return items[0].x + items[1].x;
}
void shift(inout item_t[2] items) {
    items.pop_front(1);
}
void fill(inout either_t e, in bit<8> a) {
    if (a == 0) {
        e.one.setValid();
    } else {
        e.two.setValid();
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        item_t[2] items;
        items[0].setValid();
        items[0].x = hdr.request.a;
        items[1].setValid();
        items[1].x = 3;
        hdr.reply.sum = sum(items);
        shift(items);
        hdr.reply.left = items[1].isValid() ? items[1].x : 8w0x55;
        either_t e;
        fill(e, hdr.request.a);
        hdr.reply.kind = e.one.isValid() ? 8w1 : (e.two.isValid() ? 8w2 : 8w0);
    }
}

#include "../include/rest.p4"
