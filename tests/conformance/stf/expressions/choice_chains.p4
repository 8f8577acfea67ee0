/* ':' binds tighter than '?' in p4c's grammar: a chain without parentheses groups to the left. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> chain;
    bit<8> left;
    bit<8> right;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bool p = hdr.request.a == 1;
        bool q = hdr.request.b == 1;
        bool chain = p ? true : q ? false : true;
        bool left = (p ? true : q) ? false : true;
        bool right = p ? true : (q ? false : true);
        hdr.reply.chain = chain ? 8w1 : 8w0;
        hdr.reply.left = left ? 8w1 : 8w0;
        hdr.reply.right = right ? 8w1 : 8w0;
    }
}

#include "../include/rest.p4"
