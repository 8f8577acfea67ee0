/* Key expressions are evaluated in order, each once (section 14.2.3). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

bit<8> next(inout bit<8> n) {
    n = n + 1;
    return n;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    bit<8> n;

    action set(bit<8> v) {
        hdr.reply.r = v;
    }

    table t {
        key = {
            next(n): exact @name("first");
            n: exact @name("second");
            next(n): exact @name("third");
        }
        actions = { set; NoAction; }
    }

    apply {
        n = hdr.request.a;
        t.apply();
        hdr.reply.r = hdr.reply.r + n;
    }
}

#include "../include/rest.p4"
