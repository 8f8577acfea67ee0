/* Two actions of one control-plane name and the same data: the table decides which of them runs. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
    bit<8> b;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    @name(".put") action put(bit<8> value) {
        hdr.reply.r = value;
    }

    @name(".put") action add(bit<8> value) {
        hdr.reply.r = hdr.reply.r + value;
    }

    table first {
        key = {
            hdr.request.a: exact @name("a");
        }
        actions = { put; NoAction; }
    }

    table second {
        key = {
            hdr.request.b: exact @name("b");
        }
        actions = { add; NoAction; }
        default_action = add(0x40);
    }

    apply {
        first.apply();
        second.apply();
    }
}

#include "../include/rest.p4"
