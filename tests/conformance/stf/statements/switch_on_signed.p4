/* switch over int<8> with negative labels and constants, inside an action and a function. */
#include "../include/start.p4"

header request_t {
    int<8> a;
}

header reply_t {
    bit<8> r;
    bit<8> s;
}

#include "../include/request_reply.p4"

const int<8> FIVE = 5;

bit<8> chosen(in int<8> a) {
    switch (a) {
        -1: { return 9; }
        FIVE: { return 3; }
        -128: { return 5; }
    }
    return 0;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action choose(in int<8> a) {
        switch (a) {
            -1: { hdr.reply.r = 1; }
            -128: { hdr.reply.r = 2; }
            FIVE: { hdr.reply.r = 3; }
        }
    }

    apply {
        choose(hdr.request.a);
        hdr.reply.s = chosen(hdr.request.a);
    }
}

#include "../include/rest.p4"
