//# top: bit widths
const bit<32> x = 10; const bit<(x + 2)> y = 15; const bit<(2*4)> z = 1; typedef bit<(x)> t; const bit w = 1;
//# top: width with a literal of width
const bit<8w4> y = 0;
//# top: serializable enum, bool in header
enum bit<8> E1 { A = 1 }
struct s1 { E1 x; bool y; int<4> z; } header h { E1 x; bool b; s1 s; int<8> i; }
//# top: newtype and typedef in header
type bit<8> N1; typedef bit<8> T1; header h { N1 a; T1 b; }
//# top: varbit in struct
struct s1 { varbit<8> x; }
//# top: two varbits in a header
header h { varbit<8> x; varbit<8> y; }
//# top: header union members
header h { bit<8> x; }
header_union u { h a; h b; } header_union u0 { }
//# top: stack of unions
header h { bit<8> x; } header_union u { h a; }
struct t { u[4] x; h[2] y; }
//# top: stack size expression
header h { bit<8> x; } const int N = 3;
struct t { h[N] x; h[N+1] y; h[2*N] z; }
//# top: enum representation typedef
typedef bit<8> t; enum t e { A = 1 }
//# top: enum signed neg
enum int<8> e { A = -1, B = 127, C = -128 }
//# top: enum value by earlier const
const bit<8> k = 3; enum bit<8> e { A = k, B = k + 1, C = 1 << 3 }
//# top: typedef int, error, enum, tuple, list, extern, parser
enum e { A } extern X { X(); } header h { bit<8> x; } typedef int t1; typedef error t2; typedef e t3; typedef tuple<bit<8>, bool> t4; typedef list<bit<8>> t5; typedef X t6; typedef h[4] t7; parser P1(in bit<8> x); typedef P1 t8; control C1(); typedef C1 t9; package K(); typedef K t10; typedef varbit<8> t11;
//# top: type of type, typedef
type bit<8> a; type a b; typedef bit<8> c; type c d; type bool e; type int<8> f; typedef a g; type g h;
//# top: typedef generic with args
struct S<T> { T x; } typedef S<bit<32>> X; const X c = { x = 1 };
//# top: generic spec example
struct S<T> { T field; bool valid; }
struct G<T> { S<T> s; }
const S<bit<32>> s = { field = 32w0, valid = false };
const G<bit<32>> g = { s = { field = 0, valid = false } };
header H<T> { T field; }
const H<bit<8>> h = { field = 1 };
header_union HU<T> { H<bit<32>> h32; H<bit<8>> h8; H<T> ht; }
struct hh { H<bit<8>>[10] stack; HU<bit> hu; }
//# top: list of everything
const list<int> a = (list<int>){ 1, 2 }; const list<string> b = (list<string>){ "a", "b" }; const list<bit<8>> c = (list<bit<8>>){};
//# top: struct with list of lists constant
const list<list<bit<8>>> l = (list<list<bit<8>>>){ (list<bit<8>>){1, 2}, (list<bit<8>>){3} };
//# top: const match_kind
match_kind { fuzzy, exact2 } const bool same = exact2 == fuzzy; const match_kind k = fuzzy;
//# top: const string
const string s = "abc"; const string t = s ++ "d";
//# top: const error
error { A } const error e = error.A; const bool b = error.A == error.A;
//# top: typedef struct
typedef struct Point { int<32> x; int<32> y; } Pt; const Pt p = { 1, 2 }; const Point q = { 1, 2 };
//# top: abstract overload
extern X { X(); abstract bit<8> f(in bit<8> x); }
X() x = { bit<8> f(in bit<8> x) { return x; } };
//# top: header max sizes
header h { bit<8> a; varbit<16> v; }
const int a = h.minSizeInBits(); const int b = h.maxSizeInBits(); const int c = h.minSizeInBytes(); const int d = h.maxSizeInBytes();
