/* Macros with arguments, nesting, # and ##, conditions, undef, redefinition after it. */
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

#define TWICE(x) ((x) + (x))
#define SET(field, value) \
    hdr.reply.field = (value)
#define CAT(a, b) a ## b
#define FEATURE
#define LEVEL 2

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        SET(r0, TWICE(hdr.request.a));
        SET(r1, CAT(8w, 17));
        #if defined(FEATURE) && (LEVEL > 2 || 0)
        SET(r2, 1);
        #elif LEVEL == 2
        SET(r2, 2);
        #else
        SET(r2, 3);
        #endif
        #ifdef __TARGET_BMV2__
        SET(r3, 1);
        #endif
        #undef LEVEL
        #ifndef LEVEL
        #define LEVEL 9
        #endif
        SET(r4, LEVEL); /* a comment
        over two lines */ // and one more
    }
}

#include "../include/rest.p4"
