/* An enum over int<8>, with constants as values. */
#include "../include/start.p4"
const int<8> ONE = 1;
enum int<8> Step { DOWN = -1, STAY = 0, UP = ONE }

header request_t {
    Step step;
}

header reply_t {
    int<8> value;
    bit<8> down;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.value = (int<8>)hdr.request.step + 1;
        hdr.reply.down = hdr.request.step == Step.DOWN ? 8w1 : 0;
    }
}

#include "../include/rest.p4"
