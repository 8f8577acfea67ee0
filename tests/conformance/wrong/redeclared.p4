//# v1model-whole: a program's own names that are the architecture's
struct counter { bit<8> x; } //! DUPLICATE
//# v1model-whole: a function that is the architecture's
void random(in bit<8> x) { } //! DUPLICATE
//# v1model-whole: an error that is the core's
error { NoMatch } //! DUPLICATE
//# v1model-whole: a match kind that is the architecture's
match_kind { range } //! DUPLICATE
//# v1model-whole: a constant that is the architecture's
const bit<32> __v1model_version = 1; //! DUPLICATE
//# v1model-whole: an action that is the core's
action NoAction() { } //! DUPLICATE
//# core: externs declared twice and differently
extern X { X(); void f(); }
extern X { X(); void g(); } //! DUPLICATE
//# core: prototypes with the same names but types
extern void f(in bit<8> x);
extern void f(in bit<16> x); //! DUPLICATE
//# core: a type and a value of one name
struct x { bit<8> a; }
const bit<8> x = 1; //! DUPLICATE
//# core: an action and a control of one name
action x() { }
control x() { apply { } } //! DUPLICATE
//# core: an enum and a struct of one name
enum x { A }
struct x { bit<8> a; } //! DUPLICATE
//# core: instances of one name
extern X { X(); } X() x;
X() x; //! DUPLICATE
//# control: an instance and a variable of one name
bit<8> x;
X() x; //! DUPLICATE
//# control: a table and an action of one name
action x() { }
table x { actions = { NoAction; } } //! DUPLICATE
//# core: a typedef twice
typedef bit<8> t;
typedef bit<8> t; //! DUPLICATE
//# core: type parameters of one name
void f<T, T>(in T x) { } //! DUPLICATE
//# core: methods of one name and parameters
extern X { void f(in bit<8> x); void f(in bit<16> x); } //! DUPLICATE
