/* header H<T>, as a packet's header. */
#include "../include/start.p4"

header field_t<T> {
    T value;
}

struct metadata_t { }

struct headers_t {
    field_t<bit<8>> short;
    field_t<bit<32>> long;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.short);
        packet.extract(hdr.long);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.short.value = hdr.short.value + 1;
        hdr.long.value = hdr.long.value - 1;
    }
}

#include "../include/rest.p4"
