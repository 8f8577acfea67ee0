/* A cache of hot keys in front of storage servers: reads that hit are answered by the switch, writes make the entry
   invalid until the server's update comes back, and a count-min sketch tells the controller which keys to add. */
#include <core.p4>
#include <v1model.p4>

#define CACHE_PORT 50000
#define ENTRIES 64
#define COLUMNS 256
#define HOT 3

typedef bit<48> mac_t;
typedef bit<32> address_t;
typedef bit<64> key_t;
type bit<16> slot_t;

enum bit<8> Op { READ = 0, WRITE = 1, DELETE = 2, REPLY = 3, UPDATE = 4, INVALIDATE_ACK = 5 }

header ethernet_t { mac_t destination; mac_t source; bit<16> type; }
header ipv4_t {
    bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> total_length; bit<16> identification; bit<3> flags;
    bit<13> fragment; bit<8> ttl; bit<8> protocol; bit<16> checksum; address_t source; address_t destination;
}
header udp_t { bit<16> source; bit<16> destination; bit<16> length; bit<16> checksum; }
header request_t { Op op; bit<8> words; bit<16> sequence; key_t key; }
header word_t { bit<32> value; }

struct headers_t { ethernet_t ethernet; ipv4_t ipv4; udp_t udp; request_t request; word_t[4] words; }
struct found_t { bool cached; slot_t slot; bit<4> lanes; }
struct hot_key_t { key_t key; bit<16> count; }
struct meta_t { found_t found; bit<8> left; bit<16> estimate; hot_key_t hot; bool valid; }

error { TooManyWords }

parser CacheParser(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.type) { 0x0800: ipv4; default: accept; }
    }
    state ipv4 {
        packet.extract(hdr.ipv4);
        verify(hdr.ipv4.ihl == 5 && hdr.ipv4.version == 4, error.ParserInvalidArgument);
        transition select(hdr.ipv4.protocol, hdr.ipv4.fragment) { (17, 0): udp; default: accept; }
    }
    state udp {
        packet.extract(hdr.udp);
        transition select(hdr.udp.source, hdr.udp.destination) {
            (CACHE_PORT, _): request;
            (_, CACHE_PORT): request;
            default: accept;
        }
    }
    state request {
        packet.extract(hdr.request);
        verify(hdr.request.words <= 4, error.TooManyWords);
        meta.left = hdr.request.words;
        transition select(meta.left) { 0: accept; default: word; }
    }
    state word {
        packet.extract(hdr.words.next);
        meta.left = meta.left - 1;
        transition select(meta.left) { 0: accept; default: word; }
    }
}

control CacheVerify(inout headers_t hdr, inout meta_t meta) {
    apply {
        verify_checksum(hdr.ipv4.isValid(), {
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_length, hdr.ipv4.identification,
            hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination
        }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

/* One row of the sketch: counts the key, answers with the smaller of its count and what other rows said. */
control Row(in key_t key, inout bit<16> estimate)(bit<32> salt, HashAlgorithm algorithm) {
    register<bit<16>>(COLUMNS) counts;
    apply {
        bit<32> column;
        bit<16> count;
        hash(column, algorithm, 32w0, { salt, key }, (bit<32>) COLUMNS);
        counts.read(count, column);
        count = count |+| 1;
        counts.write(column, count);
        if (count < estimate) { estimate = count; }
    }
}

/* One lane of the values. */
control Lane(inout word_t word, in bit<32> slot, in bit<1> used, in bool write) {
    register<bit<32>>(ENTRIES) values;
    apply {
        if (used == 0) { return; }
        if (write) {
            values.write(slot, word.value);
        } else {
            word.setValid();
            values.read(word.value, slot);
        }
    }
}

control CacheIngress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) {
    register<bit<1>>(ENTRIES) valid;
    register<bit<1>>(COLUMNS) reported;
    counter(ENTRIES, CounterType.packets) hits;
    Row(0x5bd1e995, HashAlgorithm.crc32) row0;
    Row(0x1b873593, HashAlgorithm.crc16) row1;
    Row(0xcc9e2d51, HashAlgorithm.crc32) row2;
    Lane() lane0; Lane() lane1; Lane() lane2; Lane() lane3;

    action drop() { mark_to_drop(sm); exit; }
    action forward(bit<9> port, mac_t destination) {
        sm.egress_spec = port;
        hdr.ethernet.source = hdr.ethernet.destination;
        hdr.ethernet.destination = destination;
        hdr.ipv4.ttl = hdr.ipv4.ttl |-| 1;
    }
    action use(slot_t slot, bit<4> lanes) { meta.found = { true, slot, lanes }; }
    action miss() { meta.found.cached = false; }

    table routes {
        key = { hdr.ipv4.destination: lpm @name("destination"); }
        actions = { forward; @defaultonly drop; }
        const default_action = drop();
        size = 256;
    }
    table cached {
        key = { hdr.request.key: exact @name("key"); }
        actions = { use; miss; }
        default_action = miss();
        size = ENTRIES;
    }
    action answer() {
        hdr.request.op = Op.REPLY;
        hdr.request.words = (bit<8>) meta.found.lanes[0:0] + (bit<8>) meta.found.lanes[1:1]
            + (bit<8>) meta.found.lanes[2:2] + (bit<8>) meta.found.lanes[3:3];
        { mac_t mac = hdr.ethernet.source; hdr.ethernet.source = hdr.ethernet.destination;
          hdr.ethernet.destination = mac; }
        address_t address = hdr.ipv4.source;
        hdr.ipv4.source = hdr.ipv4.destination;
        hdr.ipv4.destination = address;
        bit<16> port = hdr.udp.source;
        hdr.udp.source = hdr.udp.destination;
        hdr.udp.destination = port;
        bit<16> grown = (bit<16>) hdr.request.words << 2;
        hdr.udp.length = hdr.udp.length + grown;
        hdr.ipv4.total_length = hdr.ipv4.total_length + grown;
        hdr.udp.checksum = 0;
        sm.egress_spec = sm.ingress_port;
    }
    apply {
        if (sm.parser_error != error.NoError || sm.checksum_error == 1) { drop(); }
        if (!hdr.ipv4.isValid()) { drop(); }
        if (hdr.request.isValid()) {
            cached.apply();
            bit<32> slot = (bit<32>) (bit<16>) meta.found.slot;
            bit<1> now = 0;
            if (meta.found.cached) { valid.read(now, slot); }
            meta.valid = (bool) now;
            switch (hdr.request.op) {
                Op.READ: {
                    if (meta.found.cached && meta.valid) {
                        hits.count(slot);
                        lane0.apply(hdr.words[0], slot, meta.found.lanes[0:0], false);
                        lane1.apply(hdr.words[1], slot, meta.found.lanes[1:1], false);
                        lane2.apply(hdr.words[2], slot, meta.found.lanes[2:2], false);
                        lane3.apply(hdr.words[3], slot, meta.found.lanes[3:3], false);
                        answer();
                        return;
                    }
                    if (!meta.found.cached) {
                        meta.estimate = 0xffff;
                        row0.apply(hdr.request.key, meta.estimate);
                        row1.apply(hdr.request.key, meta.estimate);
                        row2.apply(hdr.request.key, meta.estimate);
                        if (meta.estimate >= HOT) {
                            bit<32> bit_of;
                            bit<1> told;
                            hash(bit_of, HashAlgorithm.crc16, 32w0, { hdr.request.key }, 32w256);
                            reported.read(told, bit_of);
                            if (told == 0) {
                                reported.write(bit_of, 1);
                                meta.hot = { key = hdr.request.key, count = meta.estimate };
                                digest<hot_key_t>(1, meta.hot);
                            }
                        }
                    }
                }
                Op.WRITE:
                Op.DELETE: { if (meta.found.cached) { valid.write(slot, 0); } }
                Op.UPDATE: {
                    if (meta.found.cached) {
                        lane0.apply(hdr.words[0], slot, (bit<1>) hdr.words[0].isValid(), true);
                        lane1.apply(hdr.words[1], slot, (bit<1>) hdr.words[1].isValid(), true);
                        lane2.apply(hdr.words[2], slot, (bit<1>) hdr.words[2].isValid(), true);
                        lane3.apply(hdr.words[3], slot, (bit<1>) hdr.words[3].isValid(), true);
                        valid.write(slot, 1);
                    }
                    mark_to_drop(sm);
                    return;
                }
                default: { }
            }
        }
        routes.apply();
    }
}

control CacheEgress(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t sm) { apply { } }

control CacheCompute(inout headers_t hdr, inout meta_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid(), {
            hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.diffserv, hdr.ipv4.total_length, hdr.ipv4.identification,
            hdr.ipv4.flags, hdr.ipv4.fragment, hdr.ipv4.ttl, hdr.ipv4.protocol, hdr.ipv4.source, hdr.ipv4.destination
        }, hdr.ipv4.checksum, HashAlgorithm.csum16);
    }
}

control CacheDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr); }
}

V1Switch(CacheParser(), CacheVerify(), CacheIngress(), CacheEgress(), CacheCompute(), CacheDeparser()) main;
