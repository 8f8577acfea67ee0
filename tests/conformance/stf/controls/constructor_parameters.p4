/* Controls with constructor parameters: constants, bools and enum values, chosen per instance (section 15). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> x;
    bit<8> y;
    bit<8> z;
}

#include "../include/request_reply.p4"

enum Op { ADD, MULTIPLY }

control Calculate(in bit<8> a, out bit<8> r)(Op op, bit<8> amount) {
    apply {
        if (op == Op.ADD) {
            r = a + amount;
        } else {
            r = a * amount;
        }
    }
}

control Pair(in bit<8> a, out bit<8> r)(bit<8> amount, bool twice) {
    Calculate(Op.ADD, amount * 2) first;
    Calculate(op = Op.ADD, amount = amount) second;
    apply {
        bit<8> middle;
        first.apply(a, middle);
        r = middle;
        if (twice) { second.apply(middle, r); }
    }
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    Calculate(Op.ADD, 1) plus1;
    Calculate(Op.MULTIPLY, 9) times9;
    Pair(5, true) pair;

    apply {
        plus1.apply(hdr.request.a, hdr.reply.x);
        times9.apply(hdr.request.a, hdr.reply.y);
        pair.apply(hdr.request.a, hdr.reply.z);
    }
}

#include "../include/rest.p4"
