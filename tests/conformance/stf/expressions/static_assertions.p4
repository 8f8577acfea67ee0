/* static_assert is decided when compiling; at top level it stands in a constant. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> b;
}

#include "../include/request_reply.p4"

const bit<8> WIDTH = 8;
const bool NAMED = static_assert(WIDTH == 8, "a byte has eight bits");
const bool CHECKED = static_assert(WIDTH > 1);

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        static_assert(hdr.reply.minSizeInBits() == 8);
        hdr.reply.b = WIDTH;
    }
}

#include "../include/rest.p4"
