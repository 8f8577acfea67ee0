/* The same variable for several parameters: copied in from left to right, out from left to right (section 6.8). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> twice;
    bit<8> last;
    bit<8> sum;
}

#include "../include/request_reply.p4"

bit<8> both(inout bit<8> x, inout bit<8> y) {
    x = x + 1;
    y = y + 10;
    return x + y;
}
void swap(inout bit<8> x, inout bit<8> y) {
    bit<8> t = x;
    x = y;
    y = t;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> a = hdr.request.a;
        hdr.reply.sum = both(a, a);
        hdr.reply.last = a;
        bit<8> b = hdr.request.a;
        swap(b, hdr.request.a);
        hdr.reply.twice = hdr.request.a + b;
    }
}

#include "../include/rest.p4"
