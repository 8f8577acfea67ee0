/* type makes a type of its own: casts to and from its base, equality (section 7.2.11). */
#include "../include/start.p4"
type bit<9> port_t;

header request_t {
    port_t port;
    bit<7> pad;
}

header reply_t {
    port_t next;
    bit<7> same;
    bit<16> wide;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.next = (port_t)((bit<9>)hdr.request.port + 1);
        hdr.reply.same = hdr.request.port == (port_t)9w5 ? 7w1 : 7w0;
        port_t here = hdr.request.port;
        hdr.reply.wide = (bit<16>)(bit<9>)here;
    }
}

#include "../include/rest.p4"
