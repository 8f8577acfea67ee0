/* isValid, setValid (zeroes a header that was invalid, leaves a valid one alone), setInvalid. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> before;
    bit<8> after;
    bit<8> zeroed;
    bit<8> untouched;
    bit<8> gone;
}

#include "../include/request_reply.p4"

header small_t {
    bit<8> x;
}

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    apply {
        small_t s;
        hdr.reply.before = s.isValid() ? 8w1 : 8w0;
        s.setValid();
        hdr.reply.after = s.isValid() ? 8w1 : 8w0;
        s.x = hdr.request.a;
        s.setValid();
        hdr.reply.untouched = s.x;
        s.setInvalid();
        hdr.reply.gone = s.isValid() ? 8w1 : 8w0;
        s.setValid();
        hdr.reply.zeroed = s.x;
    }
}

#include "../include/rest.p4"
