//# v1model-local: the same ternary entry twice
action a() { }
table t { key = { meta.m8: ternary; } actions = { a; } const entries = { 0x10 &&& 0xf0: a();
0x10 &&& 0xf0: a();
} }
apply { t.apply(); }
