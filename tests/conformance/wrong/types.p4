//# top: width negative
const bit<(-1)> y = 15; //! CONSTANT
//# top: width of a bool
const bit<(true)> y = 1; //! TYPE
//# top: width non const
bit<8> f(in bit<8> n) { bit<(n)> x = 1; return 1; } //! CONSTANT
//# top: int of zero
const int<0> y = 0; //! CONSTANT
//# top: width identifier without parentheses
const int N = 8;
const bit<N> y = 0; //! SYNTAX
//# top: varbit without width
header h { varbit x; } //! SYNTAX
//# top: int field
struct s { int x; } //! TYPE
//# top: string field
struct s { string x; } //! TYPE
//# top: void field
struct s { void x; } //! TYPE
//# top: match_kind field
struct s { match_kind x; } //! TYPE
//# top: error in header
header h { error x; } //! TYPE
//# top: enum in header
enum E1 { A }
header h { E1 x; } //! TYPE
//# top: varbit in a struct in a header
struct s1 { varbit<8> x; }
header h { s1 s; } //! TYPE
//# top: header union of bits
header_union u { bit<8> x; } //! TYPE
//# top: header union of struct
struct s { bit<8> x; }
header_union u { s x; } //! TYPE
//# top: header union of union
header h { bit<8> x; } header_union v { h x; }
header_union u { v x; } //! TYPE
//# top: header union of stack
header h { bit<8> x; }
header_union u { h[2] x; } //! TYPE
//# top: stack of bits
struct s { bit<8>[4] x; } //! TYPE
//# top: stack of structs
struct s { bit<8> x; }
struct t { s[4] x; } //! TYPE
//# top: stack of stacks
header h { bit<8> x; } typedef h[3] hs;
struct t { hs[4] x; } //! TYPE
//# top: stack size zero
header h { bit<8> x; }
struct t { h[0] x; } //! CONSTANT
//# top: stack size negative
header h { bit<8> x; }
struct t { h[-1] x; } //! CONSTANT
//# top: stack size non constant
header h { bit<8> x; }
control C1(in bit<8> n) { h[n] s; //! CONSTANT
 apply { } }
//# top: duplicate field
struct s { bit<8> x; bit<8> x; } //! DUPLICATE
//# top: duplicate type
struct s { bit<8> x; }
struct s { bit<8> x; } //! DUPLICATE
//# top: duplicate enum member
enum e { A, A } //! DUPLICATE
//# top: duplicate error
error { A }
error { A } //! DUPLICATE
//# core: duplicate error in core
error { NoError } //! DUPLICATE
//# core: duplicate match_kind
match_kind { exact } //! DUPLICATE
//# top: empty enum
enum e { } //! SYNTAX
//# top: empty error
error { } //! SYNTAX
//# top: recursive struct
struct s { s x; } //! NAME
//# top: recursive via stack
header h { bit<8> x; }
struct s { h a; s[2] b; } //! NAME
//# top: use before declare
struct s { t x; } //! NAME
struct t { bit<8> x; }
//# top: enum representation of bool
enum bool e { A = true } //! TYPE
//# top: enum representation int
enum int e { A = 1 } //! TYPE
//# top: enum representation newtype
type bit<8> t;
enum t e { A = 1 } //! TYPE
//# top: enum representation varbit
enum varbit<8> e { A = 1 } //! TYPE
//# top: enum too big
enum bit<8> e { A = 300 } //! CONSTANT
//# top: enum neg
enum bit<8> e { A = -1 } //! CONSTANT
//# top: enum signed out of range
enum int<8> e { A = 128 } //! CONSTANT
//# top: enum value missing
enum bit<8> e { A } //! SYNTAX
//# top: enum value without representation
enum e { A = 1 } //! SYNTAX
//# top: enum value wrong width
enum bit<8> e { A = 16w1 } //! TYPE
//# top: typedef void
typedef void t; //! TYPE
//# top: typedef string
typedef string t; //! TYPE
//# top: typedef match_kind
typedef match_kind t; //! TYPE
//# top: type varbit
type varbit<8> t; //! TYPE
//# top: type int
type int t; //! TYPE
//# top: type error
type error t; //! TYPE
//# top: type struct
struct s { bit<8> x; }
type s t; //! TYPE
//# top: type header
header s { bit<8> x; }
type s t; //! TYPE
//# top: type enum
enum s { A }
type s t; //! TYPE
//# top: type serenum
enum bit<8> s { A = 1 }
type s t; //! TYPE
//# top: type tuple
type tuple<bit<8>> t; //! TYPE
//# top: typedef generic without arguments
struct S<T> { T x; }
typedef S X; //! TYPE
//# top: generic wrong arity
struct S<T> { T x; }
const S<bit<8>, bool> c = { x = 1 }; //! TYPE
//# top: non generic with args
struct S { bit<8> x; }
const S<bit<8>> c = { x = 1 }; //! TYPE
//# top: generic header with bad argument
header H<T> { T field; } header K { bit<8> x; }
struct hh { H<K> x; } //! TYPE
//# top: tuple of int
const tuple<int, bool> c = { 1, true }; //! TYPE
//# top: tuple of strings
const tuple<string> c = { "a" }; //! TYPE
//# top: list in struct
struct s { list<bit<8>> x; } //! TYPE
//# top: extern in struct
extern X { X(); }
struct s { X x; } //! TYPE
//# top: parser in struct
parser P1(in bit<8> x);
struct s { P1 x; } //! TYPE
//# top: variable of type string
control C1() { string s; //! TYPE
 apply { } }
//# top: variable of type int
control C1() { int s; //! TYPE
 apply { } }
//# top: variable of type void
control C1() { void s; //! TYPE
 apply { } }
//# top: variable of type extern
extern X { }
control C1() { X s; //! TYPE
 apply { } }
//# top: variable of type match_kind
control C1() { match_kind s; //! TYPE
 apply { } }
//# top: unknown error
const error e = error.Foo; //! NAME
//# top: error order
error { A, B }
const bool b = error.A < error.B; //! TYPE
//# top: enum order
enum e { A, B }
const bool b = e.A < e.B; //! TYPE
//# top: enum cast
enum e { A, B }
const bit<8> b = (bit<8>)e.A; //! TYPE
//# top: enum member not toplevel
enum e { A, B }
const e b = A; //! NAME
//# top: enum unknown member
enum e { A, B }
const e b = e.C; //! NAME
//# top: enum of another
enum e { A, B } enum f { A, B }
const e b = f.A; //! TYPE
//# top: extern with method of same name
extern X { X(); void X(in bit<8> x); } //! TYPE
//# top: two parsers of a name
parser p1(in bit<8> x) { state start { transition accept; } }
parser p1(in bit<16> x) { state start { transition accept; } } //! DUPLICATE
//# top: package with direction
package P1(in bit<8> x); //! DIRECTION
//# top: void parameter
extern void f(in void x); //! TYPE
//# top: int parameter with direction
extern void f(in int x); //! DIRECTION
//# top: string parameter with direction
extern void f(in string x); //! DIRECTION
//# top: extern parameter with direction
extern X { }
extern void f(in X x); //! DIRECTION
