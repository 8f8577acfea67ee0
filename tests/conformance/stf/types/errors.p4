/* error values are compared and carried; a program's own follow those of core.p4. */
#include "../include/start.p4"
error { Mine, Another }
error { Third }

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> first;
    bit<8> own;
    bit<8> fresh;
}

#define OWN_METADATA
struct metadata_t {
    error kept;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.fresh = meta.kept == error.NoError ? 8w1 : 0;
        meta.kept = hdr.request.a == 1 ? error.Mine : error.PacketTooShort;
        hdr.reply.own = meta.kept == error.Mine ? 8w1 : 8w0;
        error e = meta.kept;
        hdr.reply.first = 0;
        if (e != error.PacketTooShort) { hdr.reply.first = 7; }
    }
}

#include "../include/rest.p4"
