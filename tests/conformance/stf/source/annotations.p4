/* Annotations of every form, in every place, known or not: they change nothing for packets. */
#include "../include/start.p4"

header request_t {
    bit<8> a;
}

header reply_t {
    bit<8> r;
}

#include "../include/request_reply.p4"

@my_struct @description("of nothing") struct unused_t {
    @my_field(1, 2 + 3, "text") bit<8> x;
}
@pragma something until the end of the line
@pure bit<8> identity(in bit<8> x) {
    return x;
}
@structured[1, 2, "three"] const bit<8> one = 1;
@key_values[a = 1, b = "two", c = true] const bit<8> two = 2;
@raw(any tokens { at } all, "and", 8w5 + ;) const bit<8> three = 3;

control MyIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    @hidden @name("other") action if_true() {
        hdr.reply.r = hdr.request.a;
    }

    apply {
        if_true();
        @atomic {
            hdr.reply.r = hdr.reply.r + 1;
        }
    }
}

#include "../include/rest.p4"
