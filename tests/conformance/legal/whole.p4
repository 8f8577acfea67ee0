//# core: an architecture of its own, with everything in one program
match_kind { fuzzy, nearest }
error { A, B, }
error { C }
typedef bit<32> u32;
type bit<9> Port;
enum bit<8> Proto { TCP = 6, UDP = 17, }
enum Color { Red, Green }
header empty_h { }
header eth_h { bit<48> d; bit<48> s; bit<16> t; }
header v_h { bit<8> l; varbit<64> o; }
header_union hu { eth_h e; v_h v; }
struct empty_s { }
struct hs { eth_h e; eth_h[4] st; hu u; hu[2] us; v_h v; }
struct ms<T> { T x; tuple<bit<8>, bool> tp; Proto p; Color c; error er; Port port; }
typedef ms<u32> md;
const md K0 = { x = 1, tp = { 2, true }, p = Proto.TCP, c = Color.Red, er = error.A, port = (Port)9w3 };
const tuple<bit<8>, bit<4>> KT = { 1, 2 };
const bit<8> KT0 = KT[0];
const eth_h KH = { 1, 2, 3 };
const eth_h KI = (eth_h){#};
const bool chk = static_assert(KT0 == 1, "x");
extern Rand<T> { Rand(T lo, T hi); Rand(T hi); T get(); void get2(out T a, @optional in bit<8> b); }
extern Cksum { Cksum(); void update<D>(in D data); bit<16> done(); abstract bit<8> op(in bit<8> x, out bit<8> y); }
extern Tab<K, V> { Tab(list<tuple<K, V>> init); V look(in K k); }
extern bit<32> f1<T>(in T x, bit<8> n);
extern void f2(in bit<8> a, in bit<8> b = 5);
extern void f3(in bit<8> a);
extern void f3(in bit<8> a, in bit<16> b);
extern T f4<T>(in T x);
bit<8> add(in bit<8> a, in bit<8> b) { return a + b; }
bit<8> add3(in bit<8> a, in bit<8> b, in bit<8> c) { return add(add(a, b), c); }
void nop() { return; }
T ident<T>(in T x) { return x; }
bool both(in bool a, inout bool b) { if (a && b) { b = false; return true; } else { return false; } }
action top(inout bit<8> x) { x = x + 1; }
parser PT<H, M>(packet_in p, out H h, inout M m);
control CT<H, M>(inout H h, inout M m);
control DT<H>(packet_out p, in H h);
package Pipe<H, M>(PT<H, M> p, CT<H, M> c, DT<H> d);
package Sw<H1, M1, H2, M2>(Pipe<H1, M1> a, @optional Pipe<H2, M2> b, bit<8> n = 4);
parser Sub(packet_in p, out eth_h e)(bit<16> want, Rand<bit<8>> r) {
    bit<8> x = r.get();
    state start { p.extract(e); transition select(e.t == want) { true: accept; false: next; } }
    state next { verify(x == 0, error.B); transition reject; }
}
parser Pr(packet_in p, out hs h, inout md m) {
    Rand<bit<8>>(1, 2) r;
    Sub(0x800, r) s1;
    Sub(want = 0x806, r = Rand<bit<8>>(9)) s2;
    value_set<Proto>(4) vs;
    bit<8> cnt;
    state start { cnt = 0; { bit<8> cnt2 = cnt; } ; transition select(p.lookahead<bit<8>>(), m.x) { (0 .. 3, _): one; (4 &&& 0xfc, 7): two; (_, 1 &&& 1): accept; default: three; } }
    state one { s1.apply(p, h.e); transition two; }
    state two { if (cnt > 3) s2.apply(p, h.st.next); else { s1.apply(p, h.st.next); } cnt = cnt + 1; transition select(m.p) { vs: one; Proto.TCP: two; Proto.UDP: accept; _: three; } }
    state three { p.extract(h.u.e); p.extract(h.us.next.v, (bit<32>)cnt); p.advance(8 * 3); m.er = error.C; transition accept; }
}
control Inner(inout bit<8> x)(bit<8> k, Color c) { apply { if (c == Color.Red) x = x + k; else if (c == Color.Green) { x = k; } else ; } }
control Pass(inout bit<8> x)(Inner i) { apply { i.apply(x); } }
control Gen<T>(inout T a, in T b) { T c; apply { c = b; a = c; } }
control Ct(inout hs h, inout md m) {
    Cksum() ck = { bit<8> op(in bit<8> x, out bit<8> y) { y = x; return add(x, 1); } };
    Tab<bit<8>, bit<16>>({ { 1, 2 }, { 3, 4 } }) tab;
    Rand<bit<16>>(10) rr;
    Inner(3, Color.Green) in1; Inner(c = Color.Red, k = 4) in2; Pass(in1) ps; Pass(Inner(1, Color.Red)) pp; Gen<bit<8>>() g8;
    bit<16> rnd = rr.get();
    bit<8> key = 1; bit<8> state = 2; bit<8> type = 3; bit<8> actions = 4; bit<8> entries = 5; bit<8> priority = 6; bit<8> apply = 7; bit<8> list = 8;
    action a0() { } action a1(bit<8> x, Port po) { key = x; m.port = po; } action a2(in bit<8> q, out bit<8> w, inout bit<8> e, Color z) { w = q + e; a0(); }
    action a3(bit<16> x) { rnd[7:0] = x[15:8]; return; }
    @name("tt") @hidden table t1 {
        key = { h.e.t : exact @name("et"); h.e.d : fuzzy; m.p : ternary; m.c : exact; h.e.isValid() : exact; m.port: lpm; h.st[1].t[7:0] : exact; m.x & 3 : exact; }
        actions = { a0; a1; a2(key, state, type); @defaultonly a3; .top(entries); }
        default_action = a3(5); size = 100; someprop = { 1, 2 }; otherprop = "str";
    }
    table t2 { actions = { NoAction; } const default_action = NoAction; }
    table t3 { key = { key : ternary; state : ternary; } actions = { a1; } default_action = a1(0, (Port)0); largest_priority_wins = false; priority_delta = 5;
        entries = { const priority = 10: (1, _): a1(2, (Port)9w3); (2 &&& 3, 4): a1(x = 3, po = (Port)9w1); priority = (20 + 1): _ : a1(1, (Port)9w2); } }
    apply {
        in1.apply(key); ps.apply(state); pp.apply(x = type); g8.apply(b = key, a = state); Gen<bit<16>>.apply(rnd, h.e.t);
        a0(); a1(3, m.port); a2(1, key, state, Color.Red); top(key);
        if (t1.apply().hit && !t2.apply().miss) { } else { t3.apply(); }
        switch (t3.apply().action_run) { a1: { key = 1; } default: { } }
        switch (h.e.t) { 1: 2: { key = 2; } 16w5: { exit; } default: { return; } }
        switch (m.c) { Color.Red: { } default: { } }
        bit<8> yy; bit<8> zz = ck.op(1, yy); ck.update({ h.e.d, h.e.s, 8w3 }); ck.update(h); rnd = ck.done() ++ 8w0 == 0 ? 16w1 : 16w2;
        rnd = tab.look(5); f2(1); f2(a = 1, b = 2); f3(1); f3(1, 2); key = f4(key); u32 w = f1<_>(key, 7); rr.get2(rnd); rr.get2(_);
        bool bb = true; if (both(bb, bb)) { nop(); } key = ident<bit<8>>(add3(1, 2, 3));
        h.st.push_front(1); h.st[0] = { 1, 2, 3 }; h.st[0] = h.e; h.e = {#}; h.u.e = KH; h.st = h.st; m = K0; m.tp = { key, bb }; key = m.tp[0];
        h.e.t[3:0] = 4w1; h.e.t[4 +: 8] = key; key |+|= 3; key <<= 1; m.x = (u32)(bit<8>)m.p + ((bit<32>)8w1 << key); key = ((bit<9>)m.port)[8:1];
        for (bit<8> i = 0; i < 4; i = i + 1) { if (i == 2) continue; if (i == 3) break; key = key + i; }
        for (bit<8> i in 1 .. 4) { key = key + i; }
        @atomic { key = 1; } ;
        const bit<8> lc = 3; bit<8> lv = lc; { bit<8> lv = 4; key = lv; }
    }
}
control Dp(packet_out p, in hs h) { apply { p.emit(h); p.emit(h.e); p.emit(h.st); p.emit(h.u); if (h.e.isValid()) { p.emit({ h.e, h.v }); } } }
Pipe(Pr(), Ct(), Dp()) pipe1;
Sw(a = pipe1, n = 3) main0;
Sw<hs, md, hs, md>(pipe1, pipe1) main;
