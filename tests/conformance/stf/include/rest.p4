/* The blocks that a program does not write itself, and the switch. What it writes it announces: #define OWN_INGRESS and
 * so on. All work on headers_t and metadata_t. */
#ifndef OWN_VERIFY
control Verify(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}
#endif

#ifndef OWN_INGRESS
control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { }
}
#endif

#ifndef OWN_EGRESS
control MyEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply { }
}
#endif

#ifndef OWN_COMPUTE
control Compute(inout headers_t hdr, inout metadata_t meta) {
    apply { }
}
#endif

#ifndef OWN_DEPARSER
control Deparse(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr);
    }
}
#endif

V1Switch(Parse(), Verify(), MyIngress(), MyEgress(), Compute(), Deparse()) main;
