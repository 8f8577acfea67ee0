/* log_msg: braces are replaced in order, by decimal values with their sign; what is inside them is ignored; a pair at the very start is not seen. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    int<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        log_msg("plain");
        log_msg("a={}, b={x}!", { hdr.request.a, hdr.request.b });
        log_msg("{} first {}", { hdr.request.a });
        log_msg("flag {}, error {}", { hdr.request.a == 5, error.PacketTooShort });
        hdr.reply.r = 1;
    }
}

#include "../include/rest.p4"
