//# core: inference that fails
extern void f<T>(in T a, in T b); extern T g<T>(); control c(in bit<8> x, in bit<16> y) { apply {
f(x, y); //! TYPE
f(1, 2); //! TYPE
f(x, true); //! TYPE
f<bit<8>, bit<8>>(x, x); //! TYPE
bit<8> z = g(); //! TYPE
f<bit<16>>(x, y); //! TYPE
f({1, 2}, {3, 4}); //! TYPE
} }
//# core: a type parameter is a type of its own
T f<T>(in T x) {
bit<8> y = x; //! TYPE
return 1; //! TYPE
}
