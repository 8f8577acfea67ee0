//# core: the very simple switch
typedef bit<4> PortId; const PortId REAL_PORT_COUNT = 4w8; const PortId DROP_PORT = 0xF; const PortId CPU_OUT_PORT = 0xE;
struct InControl { PortId inputPort; } struct OutControl { PortId outputPort; }
parser Parser<H>(packet_in b, out H parsedHeaders);
control Pipe<H>(inout H headers, in error parseError, in InControl inCtrl, out OutControl outCtrl);
control Deparser<H>(inout H outputHeaders, packet_out b);
package VSS<H>(Parser<H> p, Pipe<H> map, Deparser<H> d);
extern Checksum16 { Checksum16(); void clear(); void update<T>(in T data); void remove<T>(in T data); bit<16> get(); }
typedef bit<48> EthernetAddress; typedef bit<32> IPv4Address;
header Ethernet_h { EthernetAddress dstAddr; EthernetAddress srcAddr; bit<16> etherType; }
header IPv4_h { bit<4> version; bit<4> ihl; bit<8> diffserv; bit<16> totalLen; bit<16> identification; bit<3> flags; bit<13> fragOffset; bit<8> ttl; bit<8> protocol; bit<16> hdrChecksum; IPv4Address srcAddr; IPv4Address dstAddr; }
struct Parsed_packet { Ethernet_h ethernet; IPv4_h ip; }
error { IPv4OptionsNotSupported, IPv4IncorrectVersion, IPv4ChecksumError }
parser TopParser(packet_in b, out Parsed_packet p) {
    Checksum16() ck;
    state start { b.extract(p.ethernet); transition select(p.ethernet.etherType) { 0x0800: parse_ipv4; } }
    state parse_ipv4 { b.extract(p.ip); verify(p.ip.version == 4w4, error.IPv4IncorrectVersion); verify(p.ip.ihl == 4w5, error.IPv4OptionsNotSupported); ck.clear(); ck.update(p.ip); verify(ck.get() == 16w0, error.IPv4ChecksumError); transition accept; }
}
control TopPipe(inout Parsed_packet headers, in error parseError, in InControl inCtrl, out OutControl outCtrl) {
     IPv4Address nextHop;
      action Drop_action() { outCtrl.outputPort = DROP_PORT; }
      action Set_nhop(IPv4Address ipv4_dest, PortId port) { nextHop = ipv4_dest; headers.ip.ttl = headers.ip.ttl - 1; outCtrl.outputPort = port; }
     table ipv4_match { key = { headers.ip.dstAddr: lpm; } actions = { Drop_action; Set_nhop; } size = 1024; default_action = Drop_action; }
      action Send_to_cpu() { outCtrl.outputPort = CPU_OUT_PORT; }
     table check_ttl { key = { headers.ip.ttl: exact; } actions = { Send_to_cpu; NoAction; } const default_action = NoAction; }
      apply { if (parseError != error.NoError) { Drop_action(); return; } ipv4_match.apply(); if (outCtrl.outputPort == DROP_PORT) return; check_ttl.apply(); if (outCtrl.outputPort == CPU_OUT_PORT) return; }
}
control TopDeparser(inout Parsed_packet p, packet_out b) { Checksum16() ck; apply { b.emit(p.ethernet); if (p.ip.isValid()) { ck.clear(); p.ip.hdrChecksum = 16w0; ck.update(p.ip); p.ip.hdrChecksum = ck.get(); } b.emit(p.ip); } }
VSS(TopParser(), TopPipe(), TopDeparser()) main;
//# core: two packages with don't-care types
struct InControl { bit<8> p; } struct OutControl { bit<8> p; }
parser Parser<IH>(packet_in b, out IH parsedHeaders);
control IPipe<T, IH, OH>(in IH inputHeaders, in InControl inCtrl, out OH outputHeaders, out T toEgress, out OutControl outCtrl);
control EPipe<T, IH, OH>(in IH inputHeaders, in InControl inCtrl, in T fromIngress, out OH outputHeaders, out OutControl outCtrl);
control Deparser<OH>(in OH outputHeaders, packet_out b);
package Ingress<T, IH, OH>(Parser<IH> p, IPipe<T, IH, OH> map, Deparser<OH> d);
package Egress<T, IH, OH>(Parser<IH> p, EPipe<T, IH, OH> map, Deparser<OH> d);
package Switch<T>(Ingress<T, _, _> ingress, Egress<T, _, _> egress);
header h { bit<8> a; } struct S1 { h x; } struct S2 { h y; } struct M { bit<8> m; }
parser P1(packet_in b, out S1 s) { state start { b.extract(s.x); transition accept; } }
parser P2(packet_in b, out S2 s) { state start { b.extract(s.y); transition accept; } }
control I1(in S1 s, in InControl i, out S2 o, out M m, out OutControl oc) { apply { o.y = s.x; m.m = 1; oc.p = i.p; } }
control E1(in S2 s, in InControl i, in M m, out S1 o, out OutControl oc) { apply { o.x = s.y; oc.p = m.m; } }
control D1(in S2 s, packet_out b) { apply { b.emit(s.y); } }
control D2(in S1 s, packet_out b) { apply { b.emit(s); } }
Ingress(P1(), I1(), D1()) ig;
Egress(P2(), E1(), D2()) eg;
Switch(ig, eg) main;
//# core: types agree
parser Prs<T>(packet_in b, out T result);
control Pipe<T>(in T data);
package Switch<T>(Prs<T> p, Pipe<T> map);
parser P(packet_in b, out bit<32> index) { state start { index = 1; transition accept; } }
control Pipe1(in bit<32> data) { apply { } }
Switch<bit<32>>(P(), Pipe1()) main;
//# core: packet filter
parser Parser<H>(packet_in packet, out H headers); control Filter<H>(inout H headers, out bool accept); package Program<H>(Parser<H> p, Filter<H> f);
header h { bit<8> a; } struct H { h x; }
parser P(packet_in packet, out H headers) { state start { packet.extract(headers.x); transition accept; } }
control F(inout H headers, out bool accept) { apply { accept = headers.x.a == 1; } }
Program(P(), F()) main;
//# core: calling convention defaults
extern void f(in bit a, in bit<3> b = 2, in bit<5> c);
void g() { f(a = 1, b = 2, c = 3); f(a = 1, c = 3); f(1, 2, 3); }
//# core: defaults of an extern
extern void h(in bit<32> a, in bool b = true);
void g() { h(10); h(a = 10); h(a = 10, b = true); }
//# core: optional parameters of packages
struct Empty {}
control nothing(inout Empty h, inout Empty m) { apply {} }
parser parserProto<H, M>(packet_in p, out H h, inout M m);
control controlProto<H, M>(inout H h, inout M m);
package pack<HP, MP, HC, MC>(@optional parserProto<HP, MP> _parser, controlProto<HC, MC> _control = nothing());
pack() main;
//# top: name resolution
const bit<32> x = 2;
control c() { int<32> x = 0; apply { x = x + (int<32>).x; } }
control p() { const bit<8> x = 8; const bit<32> y = .x; const bit<8> z = x; apply {} }
//# top: copy in
extern void f(inout bit x, in bit y); extern bit g(inout bit z); header H { bit z; }
control c() { bit a; H[2] s; apply { f(a, g(a)); f(s[a].z, g(a)); } }
//# core: enum casts
enum bit<8> E { e1 = 0, e2 = 1, e3 = 2 } enum bit<8> E1 { e1 = 0, e2 = 1, e3 = 2 } enum bit<8> E2 { e1 = 10, e2 = 11, e3 = 12 }
control c() { apply { bit<8> x; E a = E.e2; E b; x = (bit<8>)a; b = (E)x; x = E.e2; bit<8> y = a << 3; E1 q = E1.e1; E2 r = E2.e2; q = (E1)r; q = (E1)(E1.e1 + 1); q = (E1)(E2.e1 + E2.e2); if (q > r) { } x = q + r; } }
//# core: enum members of serializable compared
enum bit<8> E { a = 5 }
control c(inout bit<8> x, inout bit<16> y, inout int<8> z) { apply { x = x + 1; bool b = z < 0; x = x | 0xFFF; x = x + E.a; x = x << 255; y = 16w11 << E.a; bit<6> s = x[E.a:0]; y = E.a ++ 8w0; } }
//# core: legal arithmetic
control c(inout bit<8> x, inout bit<16> y, inout int<8> z) { bit<16> r; int<8> i; bool b; apply { r = (bit<16>)x + y; r = (bit<16>)(x + (bit<8>)y); i = (int<8>)x + z; x = x + (bit<8>)z; i = (int<8>)(bit<8>)y; i = (int<8>)(int<16>)y; r = (bit<16>)((int<8>)(bit<8>)y + z)[7:0]; x = x << (bit<8>)z; b = x < (bit<8>)z; r = y << 1024; r = y << x; } }
//# core: lists
struct pair_t { bit<16> a; bit<32> b; } extern E { E(list<pair_t> data); void run(); }
control c() { E((list<pair_t>) {{2, 3}, {4, 5}}) e; apply { e.run(); } }
//# core: list without cast for a constructor
struct pair_t { bit<16> a; bit<32> b; } extern E { E(list<pair_t> data); void run(); }
control c() { E({{2, 3}, {4, 5}}) e; apply { e.run(); } }
//# core: learn
extern LearningProvider<T> { LearningProvider(); void learn(in T data); }
control c(in bit<48> a, in bit<32> b) { LearningProvider<tuple<bit<48>, bit<32>>>() lp; apply { lp.learn({ a, b }); } }
//# core: struct casts
struct S { bit<32> a; bit<32> b; } extern void f<T>(in T data);
control c() { S s; apply { f((S){ 10, 20 }); bool b = s == (S) { a = 1, b = 2 }; b = (S){a = 1, b = 2} == s; bit<32> z = ((S){a = 1, b = 2}).a; s = (S)s; } }
const S x = { 10, 20 }; const S y = { a = 10, b = 20 }; const S z = (S) { b = 10, a = 20 };
//# core: header ops
header H { bit<32> x; bit<32> y; }
control c() { H h; apply { h = { 10, 12 }; h = { y = 12, x = 10 }; h = {#}; if (h == {#}) { } if ({#} == h) { } bool b = h == (H){#}; b = h != {1, 2}; } }
//# core: stacks
header H<T> { bit<32> b; T t; }
control c() { apply { H<bit<32>>[3] s = (H<bit<32>>[3]){ {0, 1}, {2, 3}, (H<bit<32>>){#} }; H<bit<32>>[3] s1 = { {0, 1}, {2, 3}, (H<bit<32>>){#} }; H<bit<32>>[3] s2 = { {0, 1}, {2, 3}, ... }; bool b = s == s1; b = s1 == { {0, 1}, {2, 3}, {#} }; } }
//# core: unions
header H1 { bit<8> f; } header H2 { bit<16> g; } header_union U { H1 h1; H2 h2; }
control c() { apply { U u; H1 my_h1 = { 8w0 }; u.h1 = my_h1; u.h2 = { 16w1 }; u.h1.setValid(); my_h1 = u.h1; u.h1.setInvalid(); bool b = u.isValid(); U v = u; b = u == v; U w = (U){#}; w = {#}; b = w == {#}; } }
//# core: tcp options
header Tcp_option_end_h { bit<8> kind; } header Tcp_option_sack_h { bit<8> kind; bit<8> length; varbit<256> sack; } header_union Tcp_option_h { Tcp_option_end_h end; Tcp_option_sack_h sack; } typedef Tcp_option_h[10] Tcp_option_stack; struct Tcp_option_sack_top { bit<8> kind; bit<8> length; }
parser Tcp_option_parser(packet_in b, out Tcp_option_stack vec) {
 state start { transition select(b.lookahead<bit<8>>()) { 8w0x0 : parse_tcp_option_end; 8w0x5 : parse_tcp_option_sack; } }
 state parse_tcp_option_end { b.extract(vec.next.end); transition accept; }
 state parse_tcp_option_sack { bit<8> n = b.lookahead<Tcp_option_sack_top>().length; b.extract(vec.next.sack, (bit<32>) (8 * n - 16)); transition start; }
}
//# core: named arguments
extern void f(in bit<32> x, out bit<16> y);
control c() { apply { bit<32> xa = 0; bit<16> ya; f(xa, ya); f(x = xa, y = ya); f(y = ya, x = xa); f(xa, _); f(x = xa, y = _); } }
//# core: new types
type bit<32> U32;
control c() { apply { U32 x = (U32)0; U32 y = (U32) ((bit<32>)x + 1); bit<32> z = 1; bool b0 = x == (U32)z; bool b1 = (bit<32>)x == z; bool b2 = x == y; } }
//# core: type variables
void f<T>(inout T a, in T b) { T x; x = a; a = b; a = x; }
//# core: comparing values of a type variable is refused by the specification
bool f<T>(in T a, in T b) { return a == b; }
//# core: default values
struct S { bit<32> b32; bool b; } enum int<8> N0 { one = 1, zero = 0, two = 2 } enum N1 { A, B, C, F } struct T { S s; N0 n0; N1 n1; } header H { bit<16> f1; bit<8> f2; }
control c() { apply { N0 n0 = ...; N1 n1 = ...; S s0 = ...; S s1 = { 1, ... }; S s2 = { b = true, ... }; T t0 = ...; T t1 = { s = ..., ... }; tuple<N0, N1> p = { ... }; H h1 = ...; H h2 = { f2=5, ... }; H h3 = { ... }; bit<8> x = ...; bool b = ...; error e = ...; H[2] hs = ...; } }
//# core: sizes
header H { bit<16> f1; varbit<24> f2; } struct S { bit<3> a; bool b; tuple<bit<5>, int<3>> t; } header_union U { H h; } enum bit<5> E { A = 1 } type bit<9> P;
const int c1 = S.minSizeInBits(); const int c2 = H.maxSizeInBytes(); const bit<(E.minSizeInBits())> c3 = 1; const int c4 = P.maxSizeInBits();
control c(in S s, in H h, in U u, in H[3] st) { apply { bit<32> x = s.minSizeInBytes(); x = h.maxSizeInBits(); x = u.maxSizeInBytes(); x = st.minSizeInBits(); bit<(s.a.minSizeInBits())> y = 0; x = 32w5.minSizeInBits(); } }
//# core: action binding
control c() { action a(in bit<32> x) { } bit<32> z; action b(inout bit<32> x, bit<8> data) { } table t2 { actions = { NoAction; } }
 table t { actions = { a(5); b(z); } default_action = a(5); }
 table u { actions = { a(5); b(z); } default_action = b(z, 8w8); }
apply { t.apply(); u.apply(); t2.apply(); } }
//# core: entries of the spec
header hdr { bit<8> e; bit<16> t; }
control c(in hdr h) { action a() { } action a_params(bit<9> x) { }
 table t { key = { h.e : exact; h.t : ternary; } actions = { a; a_params; } default_action = a; largest_priority_wins = false; priority_delta = 10;
  @noWarn("duplicate_priorities") entries = { const priority=10: (0x01, 0x1111 &&& 0xF ) : a_params(1); (0x02, 0x1181 ) : a_params(2); (0x03, 0x1000 &&& 0xF000) : a_params(3); const (0x04, 0x0210 &&& 0x02F0) : a_params(4); priority=40: (0x04, 0x0010 &&& 0x02F0) : a_params(5); (0x06, _ ) : a_params(6); } }
 apply { t.apply(); } }
//# core: entries of the spec, const
header hdr { bit<8> e; bit<16> t; }
control c(in hdr h) { action a() { } action a_params(bit<9> x) { }
 table t { key = { h.e : exact; h.t : ternary; } actions = { a; a_params; } default_action = a; const entries = { (0x01, 0x1111 &&& 0xF ) : a_params(1); (0x02, 0x1181 ) : a_params(2); (0x06, _ ) : a_params(6); _ : a; } }
 apply { t.apply(); } }
//# core: table keys with calls
bit<8> f1(in bit<8> a, inout bit<8> b) { b = a + 5; return a >> 1; }
control c() { bit<8> x; bit<8> y; table t1 { key = { y & 0x7 : exact @name("masked_y"); f1(x, y) : exact @name("f1"); y : exact; } actions = { NoAction; } } apply { t1.apply(); } }
//# core: constructor parameters
header h { bit<8> a; } struct H { h x; }
parser GenericParser(packet_in b, out H p)(bool udpSupport) { state start { b.extract(p.x); transition select(udpSupport) { false: accept; true: udp; } } state udp { transition accept; } }
parser Top(packet_in b, out H p) { GenericParser(false) g; state start { g.apply(b, p); transition accept; } }
//# core: balancer
extern Balancer { Balancer(); bit<32> getFlowCount(); abstract bit<4> on_new_flow(in bit<32> address); }
Balancer() b = { bit<4> on_new_flow(in bit<32> address) { bit<32> count = this.getFlowCount(); return (address + count)[3:0]; } };
control c() { apply { bit<4> x = b.on_new_flow(5); } }
//# v1model-whole: comparing values of a type parameter
header h_t { bit<8> a; } struct hs { h_t h; h_t g; } struct m { bit<8> x; bool f; } struct S { bit<8> x; bit<4> y; }
bool same<T>(in T a, in T b) { return a == b; } bool differ<T>(in T a, in T b) { return a != b || !same(a, b); }
parser P(packet_in b, out hs h, inout m mm, inout standard_metadata_t s) { state start { b.extract(h.h); transition accept; } } control V(inout hs h, inout m mm) { apply { } }
control I(inout hs h, inout m mm, inout standard_metadata_t s) { apply { S p; S q; p = { 1, 2 }; q = p; if (same(h.h, h.g)) mm.x = 1; if (differ(h.h.a, 5)) mm.x = 2; mm.f = same(p, q) && same(mm.f, true) && same<bit<8>>(3, h.h.a); if (same({h.h.a, mm.x}, {mm.x, h.h.a})) mm.x = 4; } } control D(packet_out b, in hs h) { apply { b.emit(h); } }
V1Switch(P(), V(), I(), I(), V(), D()) main;
//# v1model-parser: select on tuples
packet.extract(hdr.one); transition select({hdr.one.a, hdr.one.b}) { (1, 2 &&& 3): next; {3, 4}: next; default: accept; } } state next { tuple<bit<8>, bool> t = { hdr.one.a, true }; transition select(t) { (1, true): accept; (_, false): third; _: third; } } state third {
//# v1model: a switch on every type
switch (meta.m8) { 1: { meta.m8 = 2; } default: { } } switch (hdr.two.y) { -5: { meta.m8 = 2; } 16s3: { } } switch (sm.parser_error) { error.NoError: { } error.PacketTooShort: { meta.m8 = 1; } }
//# v1model: structures without a type as data
digest(0, {a = hdr.one.a, b = {c = hdr.one.b, d = true}}); log_msg("x {} {}", {a = hdr.one.a, b = hdr.one.b}); hash(meta.m16, HashAlgorithm.crc16, 16w0, {a = hdr.one.a, b = hdr.one.b}, 16w100);
//# v1model-local: an int given by a number with a width
const int k = 4w9; register<bit<8>>(k) r;
apply { bit<8> x; r.read(x, k); meta.m8 = x + k; }
