//# core: annotations of both kinds on different elements
control c() { @my(1) table t { actions = { NoAction; } } @my[2] table u { actions = { NoAction; } } @my(1) @my(2) table v { actions = { NoAction; } } @Empty[] table w { actions = { NoAction; } } @Mixed[1, "a", true, 1==2, 5+6] action a() { } @KV[label="text", my_bool=true, int_val=2*3] action b() { } apply { } }
//# apply: likely and unlikely
if (m.f) @unlikely { m.m8 = 1; } else @likely { m.m8 = 2; }
switch (m.m8) { 1: @likely { m.m8 = 2; } 2: { } 3: @unlikely { } default: @unlikely { } }
//# top: deprecated
@deprecated("Please" ++ " use another") extern Checker { Checker(); } Checker() c1; @deprecated("x") extern void old(); void f() { old(); }
//# apply: bit slices of int
bit<8> x = 5[7:0]; x = 0xABCD[11:4]; x = (-1)[7:0];
//# parser: serializable members in masks and ranges
state start { transition select(m.m8, m.se) { (SE.P .. SE.Q, _): accept; (SE.P &&& 0xf, SE.Q): accept; (_, SE.P): accept; default: reject; } }
