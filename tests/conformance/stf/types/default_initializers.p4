/* ... fills what an initializer does not give with defaults (section 8.26). */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r0;
    bit<8> r1;
    bit<8> r2;
    bit<8> r3;
    bit<8> r4;
}

#include "../include/request_reply.p4"

struct inner_t {
    bit<8> z;
    error e;
}
struct all_t {
    bit<8> x;
    bit<8> y;
    bool flag;
    inner_t inner;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        all_t one = { x = hdr.request.a, ... };
        hdr.reply.r0 = one.x;
        hdr.reply.r1 = one.y;
        hdr.reply.r2 = one.flag ? 8w1 : 8w0;
        all_t none = ...;
        hdr.reply.r3 = none.x + none.inner.z;
        all_t few = { hdr.request.a, 2, ... };
        hdr.reply.r4 = few.x + few.y + few.inner.z;
    }
}

#include "../include/rest.p4"
