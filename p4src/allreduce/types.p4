// Constants and types of the aggregation protocol. hostagent/protocol/wire.py declares the same names for the hosts; a
// test compares the two.

#ifndef SLOTS
#define SLOTS 2048
#endif

typedef bit<48> mac_t;
typedef bit<32> ipv4_t;
typedef bit<32> chunk_t;
typedef bit<32> epoch_t;
typedef bit<32> set_index_t; // slot * 2 + set
typedef bit<64> children_t;  // one bit for each child

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<8> PROTOCOL_UDP = 17;
const bit<16> NETSUM_PORT = 48864;
const bit<8> NETSUM_VERSION = 2;

const bit<16> IPV4_BYTES = 20;
const bit<16> UDP_SHORT_BYTES = 32;                  // UDP header 8, protocol header 24: a frame without lanes
const bit<16> UDP_FULL_BYTES = UDP_SHORT_BYTES + 4 * LANES;

enum bit<8> kind_t {
    CONTRIBUTION = 0,
    RESULT = 1,
    WAITING = 2,
    ERROR = 3,
    MESSAGE = 4,
    ACKNOWLEDGEMENT = 5
}

enum bit<8> operator_t {
    SUM = 0,
    MAX = 1,
    SERVED = 2,  // with a server of weights at the root: a leaf adds
    ANNOUNCE = 3 // the same: a leaf takes the maximum
}

const bit<8> FLAG_NO_DATA = 1;
const bit<8> FLAG_SHORT_RESULT = 2;

// What a result says, two bits each, of the slots 1, 2, 4 ... 128 before its own: NEARBY(M) is M(0) M(1) ...
#define NEARBY(M) M(0) M(1) M(2) M(3) M(4) M(5) M(6) M(7)
const bit<16> NEARBY_UNKNOWN = 0;
const bit<16> NEARBY_ABSENT = 1;  // nothing of the receiver's waits there for other children
const bit<16> NEARBY_PRESENT = 2; // its contribution does

// Life of a set. FINAL belongs to leaves of a tree: a leaf's set is COMPLETE with its partial sum and FINAL with its
// parent's result, or NO_DATA, as the result has none; without a parent the sum of a COMPLETE set is the result.
// Constants, not an enum: bmv2's registers hold plain bit strings.
const bit<8> SET_FILLING = 0;
const bit<8> SET_COMPLETE = 1;
const bit<8> SET_FINAL = 2;
const bit<8> SET_FAILED = 3;
const bit<8> SET_NO_DATA = 4;

// What became of a contribution, of a frame for another child or of a parent's answer: row of counters `statistics`,
// column as numbered here.
enum bit<32> verdict_t {
    ACCEPTED = 0,
    ACCEPTED_NO_DATA = 1,
    COMPLETED = 2,
    SERVED_AGAIN = 3,
    WAITING = 4,
    ERROR = 5,
    OUTSIDE_WINDOW = 6,
    MISMATCH = 7,
    FORWARDED = 8,
    PARTIAL_AGAIN = 9,
    FROM_PARENT = 10,
    OVERFLOWED = 11
}

// Why a frame was dropped before it reached a set or left for another child.
enum bit<32> drop_t {
    NOT_OURS = 0,
    LENGTH = 1,
    CHECKSUM = 2,
    JOB = 3,
    CHILD = 4,
    EPOCH = 5,
    KIND = 6,
    INDEX = 7,
    PEER = 8
}
