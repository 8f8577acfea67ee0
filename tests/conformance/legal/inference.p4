//# core: inference from several arguments
extern void f<T>(in T a, in T b); extern void g<T, U>(in T a, out U b, in tuple<T, U> c); enum bit<8> SE { A = 1 } struct S { bit<8> a; } control c(in bit<8> x) { bit<16> y; tuple<bit<8>, bit<16>> t; S s; apply { f(1, x); f(x, 1); f(x, x); f(SE.A, SE.A); f({x, x}, {1, 2}); f({1, x}, {x, 2}); f(s, {5}); f({5}, s); f({a = 5}, s); g(x, y, t); g(x, y, {1, 2}); f<bit<8>>(SE.A, 1); f<_>(x, x); f(true, false); f(error.NoError, error.NoMatch); } }
//# core: inference through structures
struct P<A, B> { A a; B b; } header H<T> { T t; } T first<T, U>(in P<T, U> p) { return p.a; } P<U, T> flip<T, U>(in P<T, U> p) { return { p.b, p.a }; } T get<T>(in H<T> h) { return h.t; } T at<T>(in H<T>[2] s) { return s[1].t; }
control c(inout bit<8> x, inout bit<16> y, inout H<bit<8>>[2] s) { apply { P<bit<8>, bit<16>> p = { x, y }; x = first(p); y = first(flip(p)); P<bit<16>, bit<8>> q = flip(p); x = get(s[0]) + at(s); x = first<bit<8>, bit<16>>({1, 2}); P<P<bit<8>, bool>, bit<4>> r = { { 1, true }, 2 }; x = first(first(r)); } }
//# core: inference through externs and controls
extern R<T, I> { R(bit<32> n); T read(in I i); void write(in I i, in T v); U both<U>(in T t, in U u); } control C<T>(inout T a, in T b) { apply { a = b; } }
control c(inout bit<8> x, inout bit<16> y) { R<bit<8>, bit<16>>(4) r; C<bit<8>>() i; C<bit<16>>() j; apply { x = r.read(y); r.write(1, x); y = r.both(x, y); y = r.both<bit<16>>(1, 2); i.apply(x, 3); j.apply(y, y); C<bit<8>>.apply(x, x); } }
//# core: type parameters in bodies
void swap<T>(inout T a, inout T b) { T t = a; a = b; b = t; } T pick<T>(in bool c, in T a, in T b) { return c ? a : b; } tuple<T, T> pair<T>(in T a) { return { a, a }; } control c(inout bit<8> x, inout bit<8> y) { apply { swap(x, y); x = pick(x == y, x, y) + pair(x)[1]; x = pick(true, 1, y); } }
