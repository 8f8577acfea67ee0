//# control: a table without actions
table t { //! TYPE
    key = { m.m8: exact; }
}
//# control: an unknown match kind
table t {
    key = { m.m8: fuzzy; } //! NAME
    actions = { NoAction; }
}
//# control: a match kind that is a variable
table t {
    key = { m.m8: m; } //! NAME
    actions = { NoAction; }
}
//# control: a key of a struct
table t {
    key = { m.s: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key of a header
table t {
    key = { m.h: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key of a stack
table t {
    key = { m.st: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key of a tuple
table t {
    key = { m.t: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key of an int without width
table t {
    key = { 5: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key of a string
table t {
    key = { "a": exact; } //! TYPE
    actions = { NoAction; }
}
//# control: an unknown key
table t {
    key = { nothing: exact; } //! NAME
    actions = { NoAction; }
}
//# control: a key that is computed without a name
table t {
    key = { m.m8 + 1: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key that is cast without a name
table t {
    key = { (bit<8>)m.m16: exact; } //! TYPE
    actions = { NoAction; }
}
//# control: a key without a match kind
table t {
    key = { m.m8; } //! SYNTAX
    actions = { NoAction; }
}
//# control: an unknown action
table t {
    actions = { nothing; } //! NAME
}
//# control: a function as an action
table t {
    actions = { fun; } //! TYPE
}
//# control: a variable as an action
bit<8> v;
table t {
    actions = { v; } //! TYPE
}
//# control: an action twice
action a() { }
table t {
    actions = { a; a; } //! DUPLICATE
}
//# control: actions twice
table t {
    actions = { NoAction; }
    actions = { NoAction; } //! DUPLICATE
}
//# control: key twice
table t {
    key = { m.m8: exact; }
    key = { m.m8: exact; } //! DUPLICATE
    actions = { NoAction; }
}
//# control: size twice
table t {
    actions = { NoAction; }
    size = 1;
    size = 2; //! DUPLICATE
}
//# control: default_action twice
table t {
    actions = { NoAction; }
    default_action = NoAction();
    default_action = NoAction(); //! DUPLICATE
}
//# control: a default action that is not listed
action a() { }
table t {
    actions = { NoAction; }
    default_action = a(); //! NAME
}
//# control: an unknown default action
table t {
    actions = { NoAction; }
    default_action = nothing(); //! NAME
}
//# control: a default action that is a number
table t {
    actions = { NoAction; }
    default_action = 5; //! TYPE
}
//# control: a default action without its data
action a(bit<8> x) { }
table t {
    actions = { a; }
    default_action = a; //! TYPE
}
//# control: a default action with too much data
action a(bit<8> x) { }
table t {
    actions = { a; }
    default_action = a(1, 2); //! TYPE
}
//# control: a default action with data of the wrong type
action a(bit<8> x) { }
table t {
    actions = { a; }
    default_action = a(true); //! TYPE
}
//# control: a default action with other bound arguments than the list
action a(inout bit<8> y, bit<8> x) { y = x; }
table t {
    actions = { a(m.m8); }
    default_action = a(m.h.a, 1); //! TYPE
}
//# control: only @tableonly for a default action
action a() { }
table t {
    actions = { @tableonly a; NoAction; }
    default_action = a(); //! TYPE
}
//# control: @defaultonly in an entry
action a() { }
table t {
    key = { m.m8: exact; }
    actions = { @defaultonly a; NoAction; }
    const entries = {
        1: a(); //! TYPE
    }
}
//# control: @tableonly and @defaultonly together
action a() { }
table t {
    actions = { @tableonly @defaultonly a; NoAction; } //! TYPE
}
//# control: entries without keys
table t {
    actions = { NoAction; }
    const entries = { 1: NoAction(); } //! TYPE
}
//# control: an entry with too many keys
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        (1, 2): NoAction(); //! TYPE
    }
}
//# control: an entry with too few keys
table t {
    key = { m.m8: exact; m.m16: exact; }
    actions = { NoAction; }
    const entries = {
        1: NoAction(); //! TYPE
    }
}
//# control: an entry of the wrong type
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        true: NoAction(); //! TYPE
    }
}
//# control: an entry of another width
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        16w1: NoAction(); //! TYPE
    }
}
//# control: an entry with an action that is not listed
action a() { }
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        1: a(); //! NAME
    }
}
//# control: an entry without an action
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    const entries = {
        1; //! SYNTAX
    }
}
//# control: an entry without its data
action a(bit<8> x) { }
table t {
    key = { m.m8: exact; }
    actions = { a; NoAction; }
    const entries = {
        1: a(); //! TYPE
    }
}
//# v1model-local: an entry with a mask for an exact key
table t {
    key = { meta.m8: exact; }
    actions = { NoAction; }
    const entries = {
        1 &&& 1: NoAction(); //! UNSUPPORTED
    }
}
//# v1model-local: an entry with a range for an exact key
table t {
    key = { meta.m8: exact; }
    actions = { NoAction; }
    const entries = {
        1 .. 3: NoAction(); //! UNSUPPORTED
    }
}
//# v1model-local: an entry with a range for a ternary key
table t {
    key = { meta.m8: ternary; }
    actions = { NoAction; }
    const entries = {
        1 .. 3: NoAction(); //! UNSUPPORTED
    }
}
//# v1model-local: an entry with an lpm mask that has holes
table t {
    key = { meta.m8: lpm; }
    actions = { NoAction; }
    const entries = {
        1 &&& 0x81: NoAction(); //! UNSUPPORTED
    }
}
//# control: a priority in const entries
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    const entries = {
        priority = 5: 1: NoAction(); //! TYPE
    }
}
//# control: a priority in a table of exact keys
table t {
    key = { m.m8: exact; }
    actions = { NoAction; }
    entries = {
        priority = 5: 1: NoAction(); //! TYPE
    }
}
//# control: a first entry without a priority
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    entries = {
        1: NoAction(); //! TYPE
        priority = 5: 2: NoAction();
    }
}
//# control: a negative priority
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    entries = {
        priority = -1: 2: NoAction(); //! SYNTAX
    }
}
//# control: a priority that is not a number
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    entries = {
        priority = true: 2: NoAction(); //! SYNTAX
    }
}
//# control: largest_priority_wins that is not a bool
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    largest_priority_wins = 1; //! TYPE
    entries = { 2: NoAction(); }
}
//# control: priority_delta of zero
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    priority_delta = 0; //! CONSTANT
    entries = { 2: NoAction(); }
}
//# control: priority_delta that is not a number
table t {
    key = { m.m8: ternary; }
    actions = { NoAction; }
    priority_delta = true; //! TYPE
    entries = { 2: NoAction(); }
}
//# control: a const key
table t {
    const key = { m.m8: exact; } //! SYNTAX
    actions = { NoAction; }
}
//# control: a property without a value
table t {
    actions = { NoAction; }
    size = ; //! SYNTAX
}
//# control: actions that are not list
table t {
    actions = NoAction; //! SYNTAX
}
//# control: a key that is not a list
table t {
    key = m.m8; //! SYNTAX
    actions = { NoAction; }
}
//# control: an action's name without semicolon
table t {
    actions = { NoAction } //! SYNTAX
}
//# control: a table with parameters
table t(bit<8> x) { //! SYNTAX
    actions = { NoAction; }
}
//# top: a table without NoAction to fall back to
control C() {
    action a() { }
    table t { //! NAME
        actions = { a; }
    }
    apply { t.apply(); }
}
//# top: a table at the top level
table t { actions = { } } //! SYNTAX
//# control: several errors in one table
table t {
    key = {
        m.s: exact; //! TYPE
        m.m8: fuzzy; //! NAME
    }
    actions = {
        nothing; //! NAME
        NoAction;
    }
    size = true; //! TYPE
}
