/* varbit wider than the widest bit<W>. */
#include "../include/start.p4"

header request_t {
    bit<16> length;
    varbit<10944> data;
    bit<8> last;
}

header reply_t {
    varbit<10944> data;
}

#define OWN_METADATA
struct metadata_t {
    varbit<10944> kept;
}

struct headers_t {
    request_t request;
    reply_t reply;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.request, 8 * (bit<32>)packet.lookahead<bit<16>>());
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        meta.kept = hdr.request.data;
        hdr.reply.setValid();
        hdr.reply.data = meta.kept;
        hdr.request.last = hdr.request.last + 1;
    }
}

#include "../include/rest.p4"
