/* error values as keys: numbered as declared, core.p4's 0 to 6, then the program's. */
#include "../include/start.p4"
error { First, Second }
error { Third }

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#define OWN_METADATA
struct metadata_t {
    error e;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            meta.e: exact;
        }
        actions = { set; NoAction; }
    }

    apply {
        switch (hdr.request.a) {
            0: { meta.e = error.NoError; }
            1: { meta.e = error.HeaderTooShort; }
            2: { meta.e = error.ParserInvalidArgument; }
            3: { meta.e = error.First; }
            default: { meta.e = error.Third; }
        }
        t.apply();
    }
}

#include "../include/rest.p4"
