//# core: no state start
parser P(packet_in p) { state begin { transition accept; } } //! NAME
//# core: no state at all
parser P(packet_in p) { } //! SYNTAX
//# parser: an unknown state
state start { transition nothing; } //! NAME
//# parser: an unknown state in a select
state start {
    transition select(m.m8) {
        1: accept;
        2: nothing; //! NAME
    }
}
//# parser: a select over a bool with a number
state start {
    transition select(m.f) {
        1: accept; //! TYPE
    }
}
//# parser: a select over a number with a bool
state start {
    transition select(m.m8) {
        true: accept; //! TYPE
    }
}
//# parser: a label of another width
state start {
    transition select(m.m8) {
        16w1: accept; //! TYPE
    }
}
//# parser: too many labels
state start {
    transition select(m.m8) {
        (1, 2): accept; //! TYPE
    }
}
//# parser: too few labels
state start {
    transition select(m.m8, m.m16) {
        1: accept; //! TYPE
        (1, 2, 3): accept; //! TYPE
    }
}
//# parser: a label of another type in a tuple
state start {
    transition select(m.m8, m.f) {
        (1, 2): accept; //! TYPE
    }
}
//# parser: an empty range
state start {
    transition select(m.m8) {
        5 .. 3: accept; //! CONSTANT
    }
}
//# parser: a range of bools
state start {
    transition select(m.f) {
        false .. true: accept; //! TYPE
    }
}
//# parser: a mask on a bool
state start {
    transition select(m.f) {
        true &&& true: accept; //! TYPE
    }
}
//# parser: a range of unlike widths
state start {
    transition select(m.m8) {
        8w1 .. 16w3: accept; //! TYPE
    }
}
//# parser: a range of the wrong width
state start {
    transition select(m.m8) {
        16w1 .. 16w3: accept; //! TYPE
    }
}
//# parser: a mask of unlike widths
state start {
    transition select(m.m8) {
        8w1 &&& 16w3: accept; //! TYPE
    }
}
//# parser: a select over a header
state start {
    transition select(m.h) { //! TYPE
        default: accept;
    }
}
//# parser: a value in a select over nothing
state start {
    transition select() {
        1: accept; //! TYPE
        default: accept;
    }
}
//# parser: a select over an int without width
state start {
    transition select(5) { //! TYPE
        5: accept;
    }
}
//# parser: a select over an unknown name
state start {
    transition select(nothing) { //! NAME
        5: accept;
    }
}
//# parser: an unknown name as a label
state start {
    transition select(m.m8) {
        nothing: accept; //! NAME
    }
}
//# parser: a label of another enum
state start {
    transition select(m.se) {
        SF.P: accept; //! TYPE
    }
}
//# parser: a type as a label
state start {
    transition select(m.m8) {
        h_t: accept; //! TYPE
    }
}
//# parser: a state that transitions to a number
state start {
    transition 5; //! SYNTAX
}
//# parser: a statement behind the transition
state start {
    transition accept;
    m.m8 = 1; //! SYNTAX
}
//# parser: two transitions
state start {
    transition accept;
    transition accept; //! SYNTAX
}
//# parser: a state within a state
state start {
    state inner { transition accept; } //! SYNTAX
    transition accept;
}
//# parser: a select as a value
state start {
    m.m8 = select(m.m8) { default: accept; }; //! SYNTAX
    transition accept;
}
//# parser: a next state without semicolon
state start {
    transition select(m.m8) {
        1: accept
    } //! SYNTAX
}
//# parser: default with a value
state start {
    transition select(m.m8) {
        default 1: accept; //! SYNTAX
    }
}
//# parser: an unknown name in a state's statement
state start {
    m.m8 = nothing; //! NAME
    transition accept;
}
//# parser: two errors in two states
state start {
    m.m8 = m.m16; //! TYPE
    transition next;
}
state next {
    m.m16 = m.m8; //! TYPE
    transition accept;
}
//# apply: next outside of a parser
m.h = m.st.next; //! PLACE
//# apply: last outside of a parser
m.h = m.st.last; //! PLACE
//# apply: lastIndex outside of a parser
m.m32 = m.st.lastIndex; //! PLACE
//# state: push_front in a parser
m.st.push_front(1); //! PLACE
//# state: pop_front in a parser
m.st.pop_front(1); //! PLACE
//# state: next of a header
m.h = m.h.next; //! NAME
//# state: last as a target of another type
m.st.last = m.g; //! TYPE
//# state: a write to lastIndex
m.st.lastIndex = 1; //! DIRECTION
//# state: a write to last
m.m32 = m.st.last; //! TYPE
//# parser: a value set without a size
value_set<bit<8>> vs; //! SYNTAX
state start { transition accept; }
//# parser: a value set of a size that is not a number
value_set<bit<8>>(true) vs; //! TYPE
state start { transition accept; }
//# parser: a value set of a header
value_set<h_t>(4) vs; //! TYPE
state start { transition accept; }
//# parser: a value set of a string
value_set<string>(4) vs; //! TYPE
state start { transition accept; }
//# parser: a value set for a key of another type
value_set<bit<16>>(4) vs;
state start {
    transition select(m.m8) {
        vs: accept; //! TYPE
    }
}
//# parser: a value set that is read
value_set<bit<8>>(4) vs;
state start {
    m.m8 = vs; //! TYPE
    transition accept;
}
//# control: a value set in a control
value_set<bit<8>>(4) vs; //! PLACE
//# top: a parser without braces
parser P() state start { transition accept; } //! SYNTAX
//# top: a parser of a type that does not exist
parser P(packet_in p) { state start { transition accept; } } //! NAME
