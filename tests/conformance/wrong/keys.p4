//# v1model-local: the same exact key twice
action a() { }
table t { key = { meta.m8: exact; hdr.one.a: exact; } actions = { a; } const entries = { (1, 2): a();
(1, 3): a();
(0x1, 8w2): a(); //! DUPLICATE
} }
apply { t.apply(); }
//# v1model-local: the same prefix twice
action a() { }
table t { key = { meta.m8: lpm; } actions = { a; } const entries = { 0x10 &&& 0xf0: a();
0x1f &&& 0xf0: a(); //! DUPLICATE
} }
apply { t.apply(); }
//# v1model: an instance made in a statement
bit<16> y = Checksum16().get({ hdr.one.a, hdr.one.b }); //! PLACE
//# v1model-local: switch over action_run of an instance's table is not possible
apply { switch (meta.m8) { 1: { } 1 + 0: { } } } //! DUPLICATE
