//# top: a brace left open
control C() {
    apply { //! SYNTAX
//# top: a brace too many
control C() { apply { } } } //! SYNTAX
//# top: a semicolon left out behind a constant
const bit<8> a = 1
const bit<8> b = 2; //! SYNTAX
//# top: a semicolon left out behind a typedef
typedef bit<8> a_t
typedef bit<8> b_t; //! SYNTAX
//# top: a semicolon left out in a struct
struct s_t {
    bit<8> a
    bit<8> b; //! SYNTAX
}
//# top: a comma left out
enum E { A B } //! SYNTAX
//# top: a colon for a semicolon
const bit<8> a = 1: //! SYNTAX
//# top: a struct without a name
struct { bit<8> a; } //! SYNTAX
//# top: a header without a body
header h_t; //! SYNTAX
//# top: a keyword as a name
struct control { bit<8> a; } //! SYNTAX
//# top: a keyword as a field
struct s_t { bit<8> select; } //! SYNTAX
//# top: a number as a name
const bit<8> 1a = 1; //! SYNTAX
//# top: an unknown character
const bit<8> a = 1 $ 2; //! SYNTAX
//# top: a backquote
const bit<8> a = `1`; //! SYNTAX
//# top: a string left open
const string s = "abc; //! SYNTAX
//# top: a comment left open
/* abc //! SYNTAX
//# top: an assignment without a type
a = 1; //! SYNTAX
//# top: a parameter without a name
control C(in bit<8>) { apply { } } //! SYNTAX
//# top: parameters without a comma
control C(in bit<8> a in bit<8> b) { apply { } } //! SYNTAX
//# top: a comma too many in parameters
control C(in bit<8> a,) { apply { } } //! SYNTAX
//# top: an unknown direction
control C(ref bit<8> a) { apply { } } //! NAME
//# top: a width without brackets
const bit 8 a = 1; //! SYNTAX
//# top: a width left open
const bit<8 a = 1; //! SYNTAX
//# top: an empty width
const bit<> a = 1; //! SYNTAX
//# top: a negative literal as a width
const bit<-8> a = 1; //! SYNTAX
//# top: a package with a body
package P() { } //! SYNTAX
//# top: an instance without a name
extern X { X(); }
X(); //! SYNTAX
//# top: an error with a value
error { A = 1 } //! SYNTAX
//# top: an annotation left open
@name("a" control C() { apply { } } //! SYNTAX
//# top: an annotation without a name
@("a") control C() { apply { } } //! SYNTAX
//# top: an annotation on nothing
@name("a") //! SYNTAX
//# top: import
import "a.p4"; //! SYNTAX
//# top: class
class A { } //! NAME
//# top: a while loop
control C() {
    apply {
        while (true) { } //! SYNTAX
    }
}
//# top: a call of a type
control C(inout bit<8> z) {
    apply {
        bit<8>(z); //! SYNTAX
    }
}
//# top: increments
control C(inout bit<8> z) {
    apply {
        z++; //! SYNTAX
    }
}
//# top: goto
control C() {
    apply {
        goto end; //! NAME
    }
}
//# top: three operators in a row
control C(inout bit<8> z) {
    apply {
        z = z * / z; //! SYNTAX
    }
}
//# top: unbalanced brackets
control C(inout bit<8> z) {
    apply {
        z = (z + 1; //! SYNTAX
    }
}
//# top: an else without if, then a wrong name
control C(inout bit<8> z) {
    apply {
        else { z = 1; } //! SYNTAX
    }
}
control D(inout bit<8> z) {
    apply {
        z = ; //! SYNTAX
    }
}
//# top: three broken declarations
const bit<8> = 1; //! SYNTAX
struct s_t { bit<8> a; }
const s_t<bit<8> b = 1; //! SYNTAX
enum { A } //! SYNTAX
//# top: an empty program with a stray brace
} //! SYNTAX
//# top: a typedef without a name
typedef bit<8>; //! SYNTAX
//# top: a type without a base
type n_t; //! NAME
//# top: an if without a body
control C(in bool b) {
    apply {
        if (b)
    } //! SYNTAX
}
