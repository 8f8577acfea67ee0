/* apply, actions, entries, key, priority, state, type and words that aren't keywords, as names. */
#include "../include/start.p4"

header request_t {
    bit<8> key;
    bit<8> state;
}

header reply_t {
    bit<8> actions;
    bit<8> entries;
    bit<8> priority;
    bit<8> type;
}

#include "../include/request_reply.p4"

bit<8> reject(in bit<8> verify) {
    return verify + 1;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        bit<8> set = hdr.request.key;
        bit<8> size = hdr.request.state;
        hdr.reply.actions = set;
        hdr.reply.entries = size;
        hdr.reply.priority = set + size;
        hdr.reply.type = reject(set);
    }
}

#include "../include/rest.p4"
