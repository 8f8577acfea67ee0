/* For programs that compute a reply_t from a request_t: frames begin with the one and leave with the other.
 * The program declares both before it, and struct metadata_t too if it defines OWN_METADATA; rest.p4 comes last. */
#ifndef OWN_METADATA
struct metadata_t { }
#endif

struct headers_t {
    request_t request;
    reply_t reply;
}

#define OWN_INGRESS
#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.request);
        hdr.reply.setValid();
        transition accept;
    }
}

#define OWN_DEPARSER
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.reply);
    }
}
