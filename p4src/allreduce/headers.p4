// Ethernet | IPv4 | UDP | netsum | lanes. A frame for another child has bytes of its own instead of lanes, which are
// not parsed: they follow the parsed headers as they came.

header ethernet_t {
    mac_t destination;
    mac_t source;
    bit<16> ethertype;
}

header ipv4_header_t {
    bit<4> version;
    bit<4> ihl;
    bit<8> dscp_ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<3> flags;
    bit<13> fragment_offset;
    bit<8> ttl;
    bit<8> protocol;
    bit<16> checksum;
    ipv4_t source;
    ipv4_t destination;
}

header udp_t {
    bit<16> source_port;
    bit<16> destination_port;
    bit<16> length_bytes;
    bit<16> checksum; // 0: not computed
}

header netsum_t {
    bit<8> version;
    kind_t kind;
    bit<16> job;
    bit<16> child;
    bit<8> flags;
    operator_t operator;
    bit<16> lanes;
    bit<16> peer;      // destination child of a frame for another child; of a result what is known of nearby slots
    epoch_t epoch;
    chunk_t chunk;
    bit<32> operation; // hash of kind, operator, dtype, count, root and sequence number
}

#define LANE_FIELD(i) bit<32> lane##i;
header lanes_t {
    EACH_LANE(LANE_FIELD)
}

struct headers_t {
    ethernet_t ethernet;
    ipv4_header_t ipv4;
    udp_t udp;
    netsum_t netsum;
    lanes_t lanes;
}

#define NEARBY_FIELD(i) children_t waiting##i;

struct metadata_t {
    // From the job's entry.
    epoch_t epoch;
    chunk_t base;
    chunk_t window;
    bit<8> window_log2;
    chunk_t slots; // of the window's, those that are here
    bit<32> first_slot;
    children_t full;
    bit<16> group;
    bit<1> short_allowed;
    bit<32> statistics;
    // From the job's entry in a leaf; of a parent that is a server, too, port and addresses.
    bit<1> has_parent;
    bit<9> parent_port;
    mac_t own_mac;
    mac_t parent_mac;
    ipv4_t own_ip;
    ipv4_t parent_ip;
    bit<1> parent_zero_checksum_allowed;
    children_t elsewhere;
    // From the child's entry.
    children_t bit_mask;
    bit<1> zero_checksum_allowed;
    // For the egress: which children need no lanes of a result? Does a reply's or copy's UDP checksum have to be
    // computed? Is it a frame for another child?
    children_t short_results;
    bit<1> compute_checksum;
    bit<1> is_forwarded;
    // Of a result to all: who has contributed to each nearby slot's chunk while others have not, and what is known of
    // the slots, as the field peer has it, for a child that has not.
    bit<16> nearby;
    NEARBY(NEARBY_FIELD)
}
