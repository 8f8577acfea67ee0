/* The right side of && and || is not evaluated when the left decides: its side effects do not happen (section 6.7). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> calls;
    bit<8> results;
}

#include "../include/request_reply.p4"

bool counted(inout bit<8> calls, in bit<8> step) {
    calls = calls + step;
    return true;
}
bit<8> one(inout bit<8> calls) {
    calls = calls + 64;
    return 4;
}
bit<8> two(inout bit<8> calls) {
    calls = calls + 2;
    return 8;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> calls = 0;
        hdr.reply.results = 0;
        if (hdr.request.a != 0 && counted(calls, 1)) { hdr.reply.results = hdr.reply.results + 1; }
        if (hdr.request.a != 0 || counted(calls, 16)) { hdr.reply.results = hdr.reply.results + 2; }
        bit<8> chosen = hdr.request.a == 2 ? one(calls) : two(calls);
        hdr.reply.results = hdr.reply.results + chosen;
        hdr.reply.calls = calls;
    }
}

#include "../include/rest.p4"
