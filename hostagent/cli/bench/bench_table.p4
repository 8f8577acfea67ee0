/* One table, to measure what a look-up costs: KEYS are its keys, SIZE its entries. */
#include <core.p4>
#include <v1model.p4>

#define TYPE_IPV4 0x0800
#define TYPE_IPV6 0x86dd

header ethernet_t { bit<48> destination; bit<48> source; bit<16> ether_type; }
header ipv4_t {
    bit<8> version_ihl; bit<8> diffserv; bit<16> total_length; bit<32> fragment; bit<8> ttl; bit<8> protocol;
    bit<16> header_checksum; bit<32> source; bit<32> destination;
}
header ports_t { bit<16> source; bit<16> destination; }
header ipv6_t {
    bit<32> version; bit<16> payload_length; bit<8> next_header; bit<8> ttl; bit<128> source; bit<128> destination;
}

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; ports_t ports; ipv6_t ipv6; }
struct metadata_t { }

parser TableParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) { TYPE_IPV4: ipv4; TYPE_IPV6: ipv6; default: accept; }
    }
    state ipv4 { packet.extract(hdr.ipv4); packet.extract(hdr.ports); transition accept; }
    state ipv6 { packet.extract(hdr.ipv6); transition accept; }
}

control TableVerify(inout headers_t hdr, inout metadata_t meta) { apply { } }

control TableIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action forward(bit<9> port, bit<48> destination) {
        sm.egress_spec = port;
        hdr.ethernet.destination = destination;
        hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
    }
    action drop() { mark_to_drop(sm); }
    table looked_up {
        key = { KEYS }
        actions = { forward; drop; }
        default_action = drop();
        size = SIZE;
    }
    apply { looked_up.apply(); }
}

control TableEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }
control TableCompute(inout headers_t hdr, inout metadata_t meta) { apply { } }
control TableDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); packet.emit(hdr.ipv4); packet.emit(hdr.ports); packet.emit(hdr.ipv6); }
}

V1Switch(TableParser(), TableVerify(), TableIngress(), TableEgress(), TableCompute(), TableDeparser()) main;
