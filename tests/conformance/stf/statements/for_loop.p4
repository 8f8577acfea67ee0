/* for with three clauses: the condition before each turn, the update after it, scopes of its own (section 12.8). */
#include "../include/start.p4"

header request_t {
    bit<8> n;
}

header reply_t {
    bit<16> sum;
    bit<8> turns;
    bit<8> last;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<16> sum = 0;
        bit<8> turns = 0;
        for (bit<8> i = 0; i < hdr.request.n; i = i + 1) {
            sum = sum + (bit<16>)i;
            turns = turns + 1;
        }
        bit<8> j;
        for (j = 10, sum = sum + 1; j != 0; j = j - 5, turns = turns + 16) {
            sum = sum + 1000;
        }
        hdr.reply.sum = sum;
        hdr.reply.turns = turns;
        hdr.reply.last = j;
    }
}

#include "../include/rest.p4"
