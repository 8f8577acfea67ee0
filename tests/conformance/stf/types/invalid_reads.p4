/* bmv2: a field of an invalid header reads what it last held; of one never valid, 0 (an exception of ours). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> never;
    bit<8> kept;
    bit<8> written;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t unused;
        hdr.reply.never = unused.x;
        small_t s = { hdr.request.a };
        s.setInvalid();
        hdr.reply.kept = s.x;
        s.x = 9;
        hdr.reply.written = s.isValid() ? 8w0 : s.x;
    }
}

#include "../include/rest.p4"
