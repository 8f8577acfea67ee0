/* Parameters of tables' actions: int, bool, enum, enum with values, a new type. */
#include "../include/start.p4"
enum Colour { RED, BLUE }
enum bit<8> Kind { ONE = 1, TWO = 2 }
type bit<9> port_t;

header request_t {
    bit<8> a;
}

header reply_t {
    int<8> i;
    bit<8> flags;
    Kind k;
    bit<16> p;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action all(int<8> i, bool b, Colour c, Kind k, port_t p) {
        hdr.reply.i = i;
        hdr.reply.flags = (b ? 8w1 : 8w0) | (c == Colour.BLUE ? 8w0x10 : 8w0);
        hdr.reply.k = k;
        hdr.reply.p = (bit<16>)(bit<9>)p;
    }

    table t {
        key = {
            hdr.request.a: exact;
        }
        actions = { all; NoAction; }
    }

    apply {
        t.apply();
    }
}

#include "../include/rest.p4"
