/* log_msg with and without values changes nothing for the packet. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        log_msg("a packet");
        log_msg("a = {}, length = {}", { hdr.request.a, sm.packet_length });
        hdr.reply.r = 1;
    }
}

#include "../include/rest.p4"
