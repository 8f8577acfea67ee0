/* switch over error values and over an enum with values. */
#include "../include/start.p4"
error { Own }
enum bit<8> Kind { ONE = 1, TEN = 10 }

header request_t {
    Kind a;
}

header reply_t {
    bit<8> r;
    bit<8> s;
}

#include "../include/request_reply.p4"

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        error e = hdr.request.a == Kind.ONE ? error.Own : error.NoError;
        switch (e) {
            error.NoError: { hdr.reply.r = 1; }
            error.Own: { hdr.reply.r = 2; }
        }
        switch (hdr.request.a) {
            Kind.ONE: { hdr.reply.s = 1; }
            Kind.TEN: { hdr.reply.s = 10; }
            default: { hdr.reply.s = 99; }
        }
    }
}

#include "../include/rest.p4"
