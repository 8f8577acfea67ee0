/* Fields in several lists, lists of several fields, a list that no field carries. */
#include "../include/start.p4"

header info_t {
    bit<8> one;
    bit<8> both;
    bit<8> two;
    bit<8> flag;
}
header byte_t {
    bit<8> x;
}
struct headers_t {
    info_t info;
    byte_t a;
}

struct metadata_t {
    @field_list(1)
    bit<8> one;
    @field_list(1, 2)
    bit<8> both;
    @field_list(2)
    bit<8> two;
    @field_list(2)
    bool flag;
}

#define OWN_PARSER
parser Parse(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.a);
        transition accept;
    }
}

#define OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        if (sm.instance_type == 0) {
            meta.one = 1;
            meta.both = 2;
            meta.two = 3;
            meta.flag = true;
            if (hdr.a.x == 1) { resubmit_preserving_field_list(1); }
            else if (hdr.a.x == 2) { resubmit_preserving_field_list(2); }
            else { resubmit_preserving_field_list(9); }
        }
        hdr.info.setValid();
        hdr.info.one = meta.one;
        hdr.info.both = meta.both;
        hdr.info.two = meta.two;
        hdr.info.flag = (bit<8>)(bit<1>)meta.flag;
    }
}

#include "../include/rest.p4"
