//# core: enum members may be called like types
struct A { bit<8> x; } enum E { A, B } const E e = E.A;
//# core: errors may be called like types
struct A { bit<8> x; } error { A } const error e = error.A;
//# core: fields may be called like types and constants
struct A { bit<8> x; } const bit<8> y = 1; struct B { A A; bit<8> y; } control c(inout B b) { apply { b.A.x = b.y; } }
