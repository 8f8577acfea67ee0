/* Keys of type bool, int, enum, enum with values, error and a new type. */
#include "../include/start.p4"
enum Colour { RED, BLUE }
enum bit<8> Kind { ONE = 1, TWO = 2 }
type bit<9> port_t;

header request_t {
    bit<8> a;
    int<8> i;
    Kind kind;
}

header reply_t {
    bit<8> r;
}

#define OWN_METADATA
struct metadata_t {
    bool flag;
    Colour colour;
    port_t port;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            meta.flag: exact;
            hdr.request.i: exact;
            meta.colour: exact;
            hdr.request.kind: exact;
            sm.parser_error: exact;
            meta.port: exact;
        }
        actions = { set; NoAction; }
    }

    apply {
        meta.flag = hdr.request.a > 1;
        meta.colour = hdr.request.a > 1 ? Colour.BLUE : Colour.RED;
        meta.port = (port_t)(bit<9>)hdr.request.a;
        t.apply();
    }
}

#include "../include/rest.p4"
