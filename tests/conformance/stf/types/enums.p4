/* A plain enum: assigned, compared, in a switch, starting as its first member. */
#include "../include/start.p4"
enum Colour { RED, GREEN, BLUE }

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> start;
    bit<8> chosen;
}

#define OWN_METADATA
struct metadata_t {
    Colour colour;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        hdr.reply.start = meta.colour == Colour.RED ? 8w1 : 8w0;
        meta.colour = hdr.request.a < 10 ? Colour.GREEN : Colour.BLUE;
        Colour c = meta.colour;
        switch (c) {
            Colour.RED: { hdr.reply.chosen = 1; }
            Colour.GREEN: { hdr.reply.chosen = 2; }
            default: { hdr.reply.chosen = 3; }
        }
    }
}

#include "../include/rest.p4"
