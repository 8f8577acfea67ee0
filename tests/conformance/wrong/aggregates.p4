//# apply: too many elements for a struct
m.s = { 1, true, 2 }; //! TYPE
//# apply: too few elements for a struct
m.s = { 1 }; //! TYPE
//# apply: elements of the wrong type
m.s = { true, 1 }; //! TYPE
//# apply: a field that the struct does not have
m.s = { x = 1, f = true, z = 3 }; //! TYPE
//# apply: a field without a value
m.s = { x = 1 }; //! TYPE
//# apply: a field twice
m.s = { x = 1, x = 2, f = true }; //! DUPLICATE
//# apply: too few elements for a header
m.h = { 1 }; //! TYPE
//# apply: too many elements for a tuple
m.t = { 1, true, 3 }; //! TYPE
//# apply: a tuple's element of the wrong type
m.t = { true, 1 }; //! TYPE
//# apply: a list for a number
m.m8 = { 1 }; //! TYPE
//# apply: a struct for another struct
m.s = m.s2; //! TYPE
//# apply: a struct for a header
m.h = m.s; //! TYPE
//# apply: a header for another header
m.h = m.g; //! TYPE
//# apply: a tuple for a struct
m.s = m.t; //! TYPE
//# apply: a stack for a smaller one
m.st2 = m.st; //! TYPE
//# apply: a header for a stack
m.st = m.h; //! TYPE
//# apply: too many elements for a stack
m.st2 = { {#}, {#}, {#} }; //! TYPE
//# apply: an invalid header for a struct
m.s = {#}; //! TYPE
//# apply: an invalid header for a number
m.m8 = {#}; //! TYPE
//# apply: an invalid header compared with a number
m.f = m.m8 == {#}; //! TYPE
//# apply: a struct's expression of an unknown type
m.s = (nothing_t){ x = 1, f = true }; //! SYNTAX
//# apply: a struct's expression of another type
m.s = (s2_t){ y = 1 }; //! TYPE
//# apply: a list compared with a shorter one
m.f = m.t == { 1 }; //! TYPE
//# apply: dots that are not last
m.s = { ..., 1 }; //! SYNTAX
//# top: a struct in a header is made of numbers and bools
error { X }
struct in_t { error e; }
header h_t { in_t s; } //! TYPE
//# top: a header in a header
header a_t { bit<8> a; }
header b_t { a_t a; } //! TYPE
//# top: a stack in a header
header a_t { bit<8> a; }
header b_t { a_t[2] a; } //! TYPE
//# top: a tuple in a header
header b_t { tuple<bit<8>> a; } //! TYPE
//# top: an error in a header
header b_t { error a; } //! TYPE
//# top: a string in a header
header b_t { string a; } //! TYPE
//# top: an int without width in a header
header b_t { int a; } //! TYPE
//# top: an enum without representation in a header
enum E { A }
header b_t { E a; } //! TYPE
//# top: a union in a header
header a_t { bit<8> a; }
header_union u_t { a_t a; }
header b_t { u_t a; } //! TYPE
//# top: a string in a struct
struct s_t { string a; } //! TYPE
//# top: an int without width in a struct
struct s_t { int a; } //! TYPE
//# top: void in a struct
struct s_t { void a; } //! TYPE
//# top: match_kind in a struct
struct s_t { match_kind a; } //! TYPE
//# top: an extern in a struct
extern X { X(); }
struct s_t { X a; } //! TYPE
//# top: a parser type in a struct
parser P();
struct s_t { P a; } //! TYPE
//# top: a number in a union
header_union u_t { bit<8> a; } //! TYPE
//# top: a struct in a union
struct s_t { bit<8> a; }
header_union u_t { s_t a; } //! TYPE
//# top: a union in a union
header a_t { bit<8> a; }
header_union u_t { a_t a; }
header_union v_t { u_t a; } //! TYPE
//# top: a stack in a union
header a_t { bit<8> a; }
header_union u_t { a_t[2] a; } //! TYPE
//# top: a stack of structs
struct s_t { bit<8> a; }
struct t_t { s_t[3] a; } //! TYPE
//# top: a stack of numbers
struct t_t { bit<8>[3] a; } //! TYPE
//# top: an empty stack
header a_t { bit<8> a; }
struct t_t { a_t[0] a; } //! CONSTANT
//# top: a stack of negative size
header a_t { bit<8> a; }
struct t_t { a_t[-1] a; } //! CONSTANT
//# top: a stack of a size that is not a number
header a_t { bit<8> a; }
struct t_t { a_t[true] a; } //! TYPE
//# top: the same field twice
struct s_t { bit<8> a; bit<8> a; } //! DUPLICATE
//# top: the same header field twice
header h_t {
    bit<8> a;
    bit<16> a; //! DUPLICATE
}
//# top: a struct in itself
struct s_t { s_t a; } //! NAME
//# top: a header in itself
header h_t { bit<8> a; h_t[2] b; } //! NAME
//# top: a struct before its declaration
struct s_t { t_t a; } //! NAME
struct t_t { bit<8> a; }
//# top: a typedef of itself
typedef t_t t_t; //! NAME
//# top: a tuple of void
typedef tuple<void> t_t; //! TYPE
//# top: a stack of stacks
header a_t { bit<8> a; }
struct t_t { a_t[2][2] a; } //! TYPE
//# top: a default value outside of a struct's literal
struct s_t { bit<8> a = 3; } //! SYNTAX
//# top: a generic struct without its argument
struct s_t<T> { T a; }
struct t_t { s_t a; } //! TYPE
//# top: a generic struct with too many arguments
struct s_t<T> { T a; }
struct t_t { s_t<bit<8>, bit<8>> a; } //! TYPE
//# top: a plain struct with an argument
struct s_t { bit<8> a; }
struct t_t { s_t<bit<8>> a; } //! TYPE
//# top: a header of a string by its parameter
header h_t<T> { T a; }
struct t_t { h_t<string> a; } //! TYPE
//# top: the same type parameter twice
struct s_t<T, T> { T a; } //! DUPLICATE
