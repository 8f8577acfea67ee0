//# apply: widths of an assignment differ
m.m8 = m.m16; //! TYPE
//# apply: signs of an assignment differ
m.m8 = m.i8; //! TYPE
//# apply: a bool is not a number
m.m8 = m.f; //! TYPE
//# apply: a number is not a bool
m.f = m.m8; //! TYPE
//# apply: a literal is not a bool
m.f = 1; //! TYPE
//# apply: a condition must be a bool
if (m.m8) { m.m8 = 1; } //! TYPE
//# apply: operands of unlike widths
m.m16 = m.m8 + m.m16; //! TYPE
//# apply: operands of unlike signs
m.m8 = m.m8 + m.i8; //! TYPE
//# apply: arithmetic with a bool
m.m8 = m.m8 + m.f; //! TYPE
//# apply: bitwise and of unlike widths
m.m8 = m.m8 & m.m16; //! TYPE
//# apply: xor of bools
m.f = m.f ^ m.f; //! TYPE
//# apply: logic on numbers
m.f = m.m8 && m.m8; //! TYPE
//# apply: not of a number
m.f = !m.m8; //! TYPE
//# apply: complement of a bool
m.f = ~m.f; //! TYPE
//# apply: minus of a bool
m.f = -m.f; //! TYPE
//# apply: plus of a bool
m.f = +m.f; //! TYPE
//# apply: complement of an int without width
const int k = ~5; //! TYPE
//# apply: comparison of unlike widths
m.f = m.m8 == m.m16; //! TYPE
//# apply: comparison of unlike signs
m.f = m.m8 < m.i8; //! TYPE
//# apply: comparison of a number with a bool
m.f = m.m8 == m.f; //! TYPE
//# apply: order of bools
m.f = m.f < true; //! TYPE
//# apply: order of headers
m.f = m.h < m.h; //! TYPE
//# apply: order of errors
m.f = m.e < error.NoError; //! TYPE
//# apply: order of an enum's members
m.f = E.A < E.B; //! TYPE
//# apply: equality of different structs
m.f = m.s == m.s2; //! TYPE
//# apply: equality of different headers
m.f = m.h == m.g; //! TYPE
//# apply: equality of an enum and a number
m.f = E.A == 0; //! TYPE
//# apply: equality of two enums
m.f = E.A == F.A; //! TYPE
//# apply: equality of an error and a number
m.f = m.e == 0; //! TYPE
//# apply: equality of stacks of different size
m.f = m.st == m.st2; //! TYPE
//# apply: an enum in arithmetic
m.m8 = E.A + 1; //! TYPE
//# apply: division of signed numbers
m.i8 = m.i8 / 8s2; //! TYPE
//# apply: modulo of signed numbers
m.i8 = m.i8 % 8s2; //! TYPE
//# apply: division by the constant zero
m.m8 = m.m8 / 0; //! CONSTANT
//# apply: modulo by the constant zero
m.m8 = m.m8 % 8w0; //! CONSTANT
//# apply: division of a negative constant
m.m8 = (bit<8>)(-4 / 2); //! CONSTANT
//# apply: modulo of a negative constant
m.m8 = (bit<8>)(-4 % 3); //! CONSTANT
//# apply: a signed shift amount
m.m8 = m.m8 << m.i8; //! TYPE
//# apply: a negative shift amount
m.m8 = m.m8 << -1; //! CONSTANT
//# apply: a bool as a shift amount
m.m8 = m.m8 >> m.f; //! TYPE
//# apply: shift of a bool
m.f = m.f << 1; //! TYPE
//# apply: shift of an int without width by a value at run time
m.m8 = (bit<8>)(1 << m.m8); //! TYPE
//# apply: saturating sum of unlike widths
m.m8 = m.m8 |+| m.m16; //! TYPE
//# apply: saturating sum of ints without width
const int k = 3 |+| 4; //! TYPE
//# apply: saturating difference of bools
m.f = m.f |-| m.f; //! TYPE
//# apply: concatenation with an int without width
m.m16 = 1 ++ m.m8; //! TYPE
//# apply: concatenation with a bool
m.m16 = m.m8 ++ m.f; //! TYPE
//# apply: concatenation of the wrong width
m.m8 = m.m8 ++ m.m8; //! TYPE
//# apply: concatenation of headers
m.m16 = m.h ++ m.h; //! TYPE
//# apply: a slice of a bool
m.m8 = m.f[0:0] ++ 7w0; //! TYPE
//# apply: a slice of a header
m.m8 = m.h[7:0]; //! TYPE
//# apply: a slice beyond the width
m.m8 = m.m8[8:1]; //! CONSTANT
//# apply: a slice with its bounds turned round
m.m8 = 4w0 ++ m.m8[2:5]; //! CONSTANT
//# apply: a slice with a negative bound
m.m8 = 6w0 ++ m.m8[0:-1]; //! CONSTANT
//# apply: a slice with a bound at run time
m.m8 = m.m8[m.m16:0]; //! CONSTANT
//# apply: a slice whose bound is a bool
m.m8 = m.m8[true:0]; //! TYPE
//# apply: a slice's width at run time
m.m8 = m.m16[0 +: m.m8]; //! CONSTANT
//# apply: a slice with a width beyond the value
m.m8 = m.m16[12 +: 8]; //! CONSTANT
//# apply: an assignment to a slice of another width
m.m8[3:0] = m.m8; //! TYPE
//# apply: branches of unlike types
m.m8 = m.f ? m.m8 : m.m16; //! TYPE
//# apply: branches without a width
m.m8 = m.f ? 1 : 2; //! TYPE
//# apply: a condition of ?: that is a number
m.m8 = m.m8 ? 8w1 : 8w2; //! TYPE
//# apply: a cast from bit to int of another width
m.i16 = (int<16>)m.m8; //! TYPE
//# apply: a cast of a wide number to bool
m.f = (bool)m.m8; //! TYPE
//# apply: a cast of a bool to a wide number
m.m8 = (bit<8>)m.f; //! TYPE
//# apply: a cast of a signed bit to bool
m.f = (bool)(int<1>)1; //! TYPE
//# apply: a cast of a header to a number
m.m32 = (bit<32>)m.h; //! TYPE
//# apply: a cast of a number to a header
m.h = (h_t)m.m32; //! TYPE
//# apply: a cast of a number to an error
m.e = (error)0; //! TYPE
//# apply: a cast of an error to a number
m.m32 = (bit<32>)m.e; //! TYPE
//# apply: a cast of a number to an enum without representation
m.en = (E)1; //! TYPE
//# apply: a cast of an enum without representation to a number
m.m8 = (bit<8>)E.A; //! TYPE
//# apply: a cast between enums
m.en = (E)F.A; //! TYPE
//# apply: a cast to a type parameterised but not specialised
m.m8 = (G)m.m8; //! TYPE
//# apply: a cast to a string
m.m8 = (string)m.m8; //! TYPE
//# apply: a serializable enum does not take numbers by itself
m.se = 1; //! TYPE
//# apply: a serializable enum does not take its representation by itself
m.se = m.m8; //! TYPE
//# apply: members of different serializable enums
m.se = SF.P; //! TYPE
//# apply: a new type is not its base
m.m8 = m.n; //! TYPE
//# apply: a base is not its new type
m.n = m.m8; //! TYPE
//# apply: a cast between new types of one base
m.n2 = (n2_t) m.n; //! TYPE
//# apply: a cast of a new type to something else than its base
m.m16 = (bit<16>) m.n; //! TYPE
//# apply: a cast to a new type from something else than its base
m.n = (n_t) m.m16; //! TYPE
//# apply: arithmetic on a new type
m.n = m.n + m.n; //! TYPE
//# apply: a new type with a number
m.f = m.n == m.m8; //! TYPE
//# apply: a new type with another one
m.n = m.n2; //! TYPE
//# apply: an unknown member of an enum
m.en = E.Z; //! NAME
//# apply: an unknown member of a serializable enum
m.se = SE.Z; //! NAME
//# apply: an unknown error
m.e = error.Nothing; //! NAME
//# apply: an unknown field
m.m8 = m.nothing; //! NAME
//# apply: an unknown field of a header
m.m8 = m.h.nothing; //! NAME
//# apply: a field of a number
m.m8 = m.m8.x; //! NAME
//# apply: a field of a bool
m.m8 = m.f.x; //! NAME
//# apply: an unknown name
m.m8 = nothing; //! NAME
//# apply: an unknown name as a condition
if (nothing) { } //! NAME
//# apply: an unknown function
nothing(1); //! NAME
//# apply: a type is not a value
m.m8 = h_t; //! TYPE
//# apply: an enum is not a value
m.en = E; //! TYPE
//# apply: a method without its call
m.f = m.h.isValid; //! TYPE
//# apply: a number is not a function
m.m8(3); //! TYPE
//# apply: a header is not a function
m.h(); //! TYPE
//# apply: indexing what is not a stack
m.m8 = m.m16[1]; //! TYPE
//# apply: indexing a header
m.m8 = m.h[0]; //! TYPE
//# apply: indexing with a bool
m.st[m.f].a = 1; //! TYPE
//# apply: indexing with an enum
m.st[E.A].a = 1; //! TYPE
//# apply: an index beyond the stack
m.st[4].a = 1; //! CONSTANT
//# apply: a negative index
m.st[-1].a = 1; //! CONSTANT
//# apply: an index beyond the tuple
m.m8 = m.t[2]; //! CONSTANT
//# apply: a tuple's index at run time
m.m8 = m.t[m.m8]; //! CONSTANT
//# apply: an element of a tuple has another type
m.m8 = m.t[1]; //! TYPE
//# apply: a string in arithmetic
m.m8 = "a" + 1; //! TYPE
//# apply: a string as a number
m.m8 = "a"; //! TYPE
//# apply: validity of a struct
m.f = m.s.isValid(); //! NAME
//# apply: validity of a number
m.f = m.m8.isValid(); //! NAME
//# apply: validity of a stack
m.f = m.st.isValid(); //! NAME
//# apply: setValid with an argument
m.h.setValid(1); //! TYPE
//# apply: isValid with an argument
m.f = m.h.isValid(1); //! TYPE
//# apply: setValid has no value
m.f = m.h.setValid(); //! TYPE
//# apply: setInvalid on a struct
m.s.setInvalid(); //! NAME
//# apply: push_front on a header
m.h.push_front(1); //! NAME
//# apply: push_front without a count
m.st.push_front(); //! TYPE
//# apply: push_front with a count at run time
m.st.push_front(m.m8); //! CONSTANT
//# apply: pop_front with a negative count
m.st.pop_front(-1); //! CONSTANT
//# apply: a mask outside of keysets
m.m8 = m.m8 &&& 8w3; //! SYNTAX
//# apply: a range outside of keysets
m.m8 = 8w1 .. 8w3; //! SYNTAX
//# apply: two errors in two statements
m.m8 = m.m16; //! TYPE
m.f = true;
m.f = m.m32; //! TYPE
//# apply: an error in a block does not hide the next one
if (m.f) {
    m.m8 = m.m16; //! TYPE
} else {
    m.m16 = nothing; //! NAME
}
m.m32 = m.m8; //! TYPE
