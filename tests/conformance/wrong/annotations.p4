//# top: @name without a text
@name control C() { apply { } } //! SYNTAX
//# top: @name with a number
@name(5) control C() { apply { } } //! SYNTAX
//# top: @name with two texts
@name("a", "b") control C() { apply { } } //! SYNTAX
//# control: @tableonly with an argument
table t {
    actions = { @tableonly(1) NoAction; } //! SYNTAX
    default_action = NoAction();
}
//# control: @hidden with an argument
@hidden("x") table t { //! SYNTAX
    actions = { NoAction; }
}
//# control: @id with a text
@id("x") table t { //! SYNTAX
    actions = { NoAction; }
}
//# control: @id with two numbers
@id(1, 2) table t { //! SYNTAX
    actions = { NoAction; }
}
//# top: @controller_header with a number
@controller_header(5) header h_t { bit<8> a; } //! SYNTAX
//# top: @p4runtime_translation without a width
@p4runtime_translation("x") type bit<8> n_t; //! SYNTAX
//# top: @p4runtime_translation without a uri
@p4runtime_translation(5, 32) type bit<8> n_t; //! SYNTAX
//# top: a structured annotation of pairs and values
@mine[a = 1, 2] control C() { apply { } } //! SYNTAX
//# top: a structured annotation with a key twice
@mine[a = 1, a = 2] control C() { apply { } } //! DUPLICATE
//# top: a structured annotation of something at run time
extern bit<8> f();
@mine[f()] control C() { apply { } } //! CONSTANT
//# top: a structured annotation with an unknown name
@mine[nothing] control C() { apply { } } //! NAME
//# top: a structured and an unstructured annotation of one name
@mine[1] @mine(2) control C() { apply { } } //! DUPLICATE
//# top: unbalanced brackets in an annotation
@mine(a(b) control C() { apply { } } //! SYNTAX
//# top: @brief with a number
@brief(5) control C() { apply { } } //! SYNTAX
//# top: @max_group_size with a text
extern X { X(); }
control C() {
    @max_group_size("x") X() x; //! SYNTAX
    apply { }
}
//# top: @pkginfo without a key
control B();
package S(B b);
control C() { apply { } }
@pkginfo("x") S(C()) main; //! SYNTAX
