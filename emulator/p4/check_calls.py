"""Calls: which overload, which type arguments, and what each argument may be (sections 6.8, 8.15, 8.20)."""

from __future__ import annotations

from collections.abc import Sequence

from emulator.p4 import resolved as r
from emulator.p4 import syntax as s
from emulator.p4 import types as t
from emulator.p4.check_base import Where
from emulator.p4.check_expressions import ExpressionChecker
from emulator.p4.check_infer import Inference, InferenceError
from emulator.p4.errors import Abandoned, Kind

_SIZES = frozenset(("minSizeInBits", "minSizeInBytes", "maxSizeInBits", "maxSizeInBytes"))


class CallChecker(ExpressionChecker):
    def call(self, node: s.Call) -> r.Expr:  # noqa: RET503
        callee = self.expression(node.callee)
        if isinstance(callee, r.TypeRef):
            return self.construct(node, callee)
        if isinstance(callee, r.Method):
            return self._method(node, callee)
        if isinstance(callee, r.Ref):
            symbol = callee.symbol
            if isinstance(symbol, r.ExternFunctionSymbol):
                return self._extern_function(node, symbol)
            if isinstance(symbol, r.FunctionSymbol):
                return self._function(node, symbol)
            if isinstance(symbol, r.ActionSymbol):
                return self._action(node, symbol)
        if callee.type is t.UNKNOWN:
            return callee
        self.fail(node.callee, f"{callee.type} cannot be called")

    # --- functions -----------------------------------------------------------------------------------------------

    def _extern_function(self, node: s.Call, symbol: r.ExternFunctionSymbol) -> r.Expr:
        signature = self._overload(node, symbol.name, symbol.signatures)
        name = symbol.name
        arguments, inference = self.match(node, signature, f"{name}()")
        result = inference.result(signature.result)
        if name == "static_assert":
            return self._static_assert(node, arguments)
        if name == "verify":
            if self.where is not Where.STATE:
                self.fail(node, "verify() can only be called in a parser's state", Kind.PLACE)
        elif name not in self.architecture.functions:
            self.unsupported(node.callee, f"the extern function {name}()")
        if self.where is Where.FUNCTION:
            self.fail(node, f"{name}(): extern functions cannot be called in functions", Kind.PLACE)
        return r.ExternCall(node.at, result, name, None, signature, arguments, inference.arguments())

    def _static_assert(self, node: s.Call, arguments: tuple[r.Bound, ...]) -> r.Expr:
        condition = arguments[0].value
        if not isinstance(condition, r.Literal):
            self.fail(node, "static_assert: the condition must be known at compile time", Kind.CONSTANT)
        if not condition.value:
            text = arguments[1].value.value if len(arguments) > 1 and isinstance(arguments[1].value, r.Literal) else ""
            self.fail(node, f"static_assert failed{': ' + text if text else ''}", Kind.CONSTANT)
        return r.Literal(node.at, t.BOOL, True)

    def _function(self, node: s.Call, symbol: r.FunctionSymbol) -> r.Expr:
        arguments, inference = self.match(node, symbol.signature, f"{symbol.name}()")
        result = inference.result(symbol.signature.result)
        return r.FunctionCall(node.at, result, symbol, arguments, dict(inference.known))

    def _action(self, node: s.Call, symbol: r.ActionSymbol) -> r.Expr:
        if self.where not in (Where.APPLY, Where.ACTION):
            self.fail(node, f"action {symbol.name!r} can only be called in actions and apply blocks", Kind.PLACE)
        arguments, _ = self.match(node, symbol.signature, f"{symbol.name}()", is_action=True)
        return r.ActionCall(node.at, t.VOID, symbol, arguments)

    def _overload(self, node: s.Call, name: str, signatures: Sequence[t.Signature]) -> t.Signature:
        """The one that takes this number of arguments and these names (section 7.2.9)."""
        given = [a.name for a in node.arguments]
        fitting = [signature for signature in signatures if self._accepts(signature, given)]
        if not fitting:
            if len(signatures) == 1:
                return signatures[0]  # `match` says what is wrong
            self.fail(node, f"no overload of {name} takes {len(given)} arguments")
        return fitting[0]

    @staticmethod
    def _accepts(signature: t.Signature, given: list[str | None]) -> bool:
        parameters = signature.parameters
        least = sum(1 for p in parameters if p.default is None and not p.is_optional)
        if not least <= len(given) <= len(parameters):
            return False
        names = {p.name for p in parameters}
        return all(name is None or name in names for name in given)

    # --- methods -------------------------------------------------------------------------------------------------

    def _method(self, node: s.Call, method: r.Method) -> r.Expr:
        base, name = method.base, method.name
        type_ = base.type
        if name in _SIZES:
            return self._size_method(node, base, name)
        if isinstance(base, r.TypeRef):
            return self._direct_application(node, base)
        if isinstance(type_, t.ExternType):
            return self._extern_method(node, base, type_, name)
        if isinstance(type_, t.StackType):
            return self._stack_method(node, base, name)
        if isinstance(type_, t.StructLike):
            return self._header_method(node, base, name)
        if isinstance(type_, t.TableType):
            return self._table_apply(node, base)
        return self._block_apply(node, base, type_)

    def _size_method(self, node: s.Call, base: r.Expr, name: str) -> r.Expr:
        width = t.width_bits(base.type)
        if width is None:
            self.unsupported(node, f"{name}() of {base.type}")
        return r.Literal(node.at, t.INT, width if name.endswith("Bits") else (width + 7) // 8)

    def _no_arguments(self, node: s.Call, name: str) -> None:
        if node.arguments:
            self.fail(node.arguments[0], f"{name}() takes no arguments")

    def _header_method(self, node: s.Call, base: r.Expr, name: str) -> r.Expr:
        self._no_arguments(node, name)
        if name != "isValid":
            self.require_lvalue(base, node.callee, f"{name}()")
        return r.BuiltinCall(node.at, t.BOOL if name == "isValid" else t.VOID, base, name)

    def _stack_method(self, node: s.Call, base: r.Expr, name: str) -> r.Expr:
        if self.where in (Where.STATE, Where.PARSER):
            self.fail(node, f"{name}() cannot be used in a parser", Kind.PLACE)
        self.require_lvalue(base, node.callee, f"{name}()")
        if len(node.arguments) != 1 or node.arguments[0].value is None:
            self.fail(node, f"{name}() takes one argument: how many elements")
        count = self.constant_int(node.arguments[0].value, f"the argument of {name}()")
        if count < 0:
            self.fail(node.arguments[0], f"{name}({count}): the number must not be negative", Kind.CONSTANT)
        return r.BuiltinCall(node.at, t.VOID, base, name, count)

    def _extern_method(self, node: s.Call, base: r.Expr, type_: t.ExternType, name: str) -> r.Expr:
        signature = self._overload(node, f"{type_}.{name}", type_.methods[name])
        full = f"{type_.name}.{name}"
        arguments, inference = self.match(node, signature, f"{name}()")
        result = inference.result(signature.result)
        if type_.name in ("packet_in", "packet_out"):
            self._packet_method(node, full, arguments, inference)
        elif full not in self.architecture.methods:
            self.unsupported(node.callee, f"{full}()")
        if self.where is Where.FUNCTION:
            self.fail(node, f"{full}(): extern methods cannot be called in functions", Kind.PLACE)
        return r.ExternCall(node.at, result, full, base, signature, arguments, inference.arguments())

    def _packet_method(self, node: s.Call, full: str, arguments: tuple[r.Bound, ...], inference: Inference) -> None:
        if full == "packet_in.length":
            self.unsupported(node.callee, "packet_in.length()")
        if full == "packet_in.extract":
            if len(arguments) == 2:
                self.unsupported(node, "extract() of a variable-length header")
            target = arguments[0].value
            if target is None or not isinstance(target.type, t.StructLike) or target.type.kind == "struct":
                found = "_" if target is None else str(target.type)
                self.fail(node.arguments[0], f"extract() takes a header, not {found}")
        elif full == "packet_in.lookahead":
            result = inference.arguments()[0]
            if t.width_bits(result) is None or isinstance(result, t.StackType):
                self.fail(node, f"lookahead() cannot give {result}: it needs a fixed width")
        elif full == "packet_out.emit":
            self._check_emitted(node, arguments[0].value)

    def _check_emitted(self, node: s.Call, value: r.Expr | None) -> None:
        """Headers, stacks, and structs of them."""

        def is_legal(type_: t.Type) -> bool:
            if isinstance(type_, t.StackType):
                return True
            return isinstance(type_, t.StructLike) and (
                type_.kind != "struct" or all(is_legal(f.type) for f in type_.fields.values())
            )

        if value is None or not is_legal(value.type):
            found = "_" if value is None else str(value.type)
            self.fail(node.arguments[0], f"emit() takes headers, stacks, and structs of them, not {found}")

    def _table_apply(self, node: s.Call, base: r.Expr) -> r.Expr:
        self._no_arguments(node, "apply")
        if self.where is not Where.APPLY:
            self.fail(node, f"a table cannot be applied in {self.where}", Kind.PLACE)
        assert isinstance(base, r.Ref)
        assert isinstance(base.symbol, r.TableSymbol)
        return r.TableApply(node.at, t.ApplyResultType(base.symbol), base.symbol)

    def _block_apply(self, node: s.Call, base: r.Expr, type_: t.Type) -> r.Expr:
        assert isinstance(type_, t.BlockType)
        allowed = Where.STATE if type_.kind == "parser" else Where.APPLY
        if self.where is not allowed:
            self.fail(node, f"a {type_.kind} cannot be applied in {self.where}", Kind.PLACE)
        arguments, _ = self.match(node, type_.apply, f"{type_}.apply()")
        return r.BlockApply(node.at, t.VOID, base, arguments)

    def _direct_application(self, node: s.Call, base: r.TypeRef) -> r.Expr:
        """``C.apply(...)``: an instance without arguments, made here (section 14.2)."""
        type_ = base.type
        if not isinstance(type_, t.BlockType) or type_.constructor is None:
            self.fail(node, f"{type_} cannot be applied")
        if type_.constructor.parameters:
            self.fail(node, f"{type_} has constructor parameters: it must be instantiated before it is applied")
        construct = r.Construct(node.at, type_, self._declared_block(type_), ())
        return self._block_apply(node, construct, type_)

    # --- constructors --------------------------------------------------------------------------------------------

    def construct(self, node: s.Call, callee: r.TypeRef) -> r.Expr:
        """A constructor call inside an expression: an anonymous instance."""
        if self.where not in (Where.TOP, Where.TABLE, Where.CONTROL, Where.PARSER):
            self.fail(node, f"nothing can be instantiated in {self.where}", Kind.PLACE)
        return self.instantiate(node, callee, node.arguments)

    def instantiate(self, node: s.Node, callee: r.TypeRef, arguments: tuple[s.Argument, ...]) -> r.Construct:
        """Match constructor arguments; type arguments that were left out are inferred."""
        generic = callee.symbol
        if isinstance(generic, t.Generic):
            type_: t.Type = generic.specialise(generic.parameters)
        else:
            type_ = callee.type
        if isinstance(type_, t.ExternType):
            if type_.name not in self.architecture.externs:
                self.unsupported(node, f"the extern {type_.name}")
            call = s.Call(node.at, s.Name(node.at, type_.name), None, arguments)
            signature = self._overload(call, type_.name, type_.constructors) if type_.constructors else None
            if signature is None:
                self.fail(node, f"{type_} has no constructor")
        elif isinstance(type_, t.BlockType) and type_.constructor is not None:
            signature = type_.constructor
            call = s.Call(node.at, s.Name(node.at, type_.name), None, arguments)
        else:
            self.fail(node, f"{type_} cannot be instantiated")
        variables = generic.parameters if isinstance(generic, t.Generic) else ()
        bound, inference = self.match(call, signature, str(type_), variables=variables, is_constructor=True)
        if isinstance(generic, t.Generic):
            type_ = generic.specialise(tuple(inference.known[v] for v in variables))
        return r.Construct(node.at, type_, self._declared_block(type_), bound)

    @staticmethod
    def _declared_block(type_: t.Type) -> r.BlockSymbol | None:
        declaration = type_.declaration if isinstance(type_, t.BlockType) else None
        return declaration if isinstance(declaration, r.BlockSymbol) else None

    # --- arguments -----------------------------------------------------------------------------------------------

    def match(
        self,
        node: s.Call,
        signature: t.Signature,
        what: str,
        *,
        variables: tuple[t.TypeVariable, ...] = (),
        is_action: bool = False,
        is_constructor: bool = False,
    ) -> tuple[tuple[r.Bound, ...], Inference]:
        """Arguments in parameter order, converted and checked against directions; and the inferred types."""
        pairs = self._paired(node, signature, what)
        inference = Inference((*signature.type_parameters, *variables))
        self._explicit(node, signature, inference)
        values = [
            (parameter, argument, None if argument is None or argument.value is None else self._argument(argument))
            for parameter, argument in pairs
        ]
        for parameter, argument, value in values:
            if argument is not None and value is None and parameter.direction != "out":
                text = f"{what}: argument {parameter.name!r}: '_' can only stand for an out parameter"
                self.fail(argument, text, Kind.DIRECTION)
        if inference.variables:
            self._infer(node, what, inference, values)
        bound: list[r.Bound] = []
        for parameter, argument, value in values:
            if inference.variables:
                target = inference.result(parameter.type)
                parameter = t.Parameter(
                    parameter.name, parameter.direction, target, parameter.default, parameter.is_optional
                )
            bound.append(self._bind(node, parameter, argument, value, what, is_action or is_constructor))
        return tuple(bound), inference

    def _argument(self, argument: s.Argument) -> r.Expr:
        assert argument.value is not None
        found = self.expression(argument.value)
        if isinstance(found, r.TypeRef | r.Method) or found.type is t.VOID:
            return self.value(argument.value)
        return found

    def _paired(self, node: s.Call, signature: t.Signature, what: str) -> list[tuple[t.Parameter, s.Argument | None]]:
        parameters, given = signature.parameters, node.arguments
        named = [a for a in given if a.name is not None]
        if named and len(named) != len(given):
            self.fail(node, f"{what}: either all arguments are named or none")
        if not named:
            if len(given) == len(parameters):
                return list(zip(parameters, given, strict=True))
            rest = parameters[len(given) :]
            if len(given) > len(parameters) or any(p.default is None and not p.is_optional for p in rest):
                self.fail(node, f"{what} takes {len(parameters)} arguments, {len(given)} are given")
            return [*zip(parameters, given, strict=False), *((p, None) for p in rest)]
        by_name = {a.name: a for a in named}
        if len(by_name) != len(named):
            self.fail(node, f"{what}: an argument is given twice", Kind.DUPLICATE)
        for argument in named:
            if all(p.name != argument.name for p in parameters):
                self.fail(argument, f"{what} has no parameter {argument.name!r}", Kind.NAME)
        for parameter in parameters:
            if parameter.name not in by_name and parameter.default is None and not parameter.is_optional:
                self.fail(node, f"{what}: no argument for {parameter.name!r}")
        return [(p, by_name.get(p.name)) for p in parameters]

    def _explicit(self, node: s.Call, signature: t.Signature, inference: Inference) -> None:
        if node.type_arguments is None:
            return
        wanted = signature.type_parameters
        if len(node.type_arguments) != len(wanted):
            self.fail(
                node, f"{signature.name} takes {len(wanted)} type arguments, {len(node.type_arguments)} are given"
            )
        for variable, argument in zip(wanted, node.type_arguments, strict=True):
            if not (isinstance(argument, s.SimpleType) and argument.name == "_"):
                inference.known[variable] = self.type_of(argument)

    def _infer(
        self,
        node: s.Call,
        what: str,
        inference: Inference,
        values: list[tuple[t.Parameter, s.Argument | None, r.Expr | None]],
    ) -> None:
        """Arguments with a type of their own first, then literals, which adapt."""
        ordered = [v for v in values if v[2] is not None]
        ordered.sort(key=lambda v: isinstance(v[2], r.Aggregate) or (v[2] is not None and v[2].type is t.INT))
        for parameter, argument, value in ordered:
            assert value is not None
            try:
                inference.unify(parameter.type, value.type)
            except InferenceError as error:
                self.fail(argument or node, f"{what}: argument {parameter.name!r}: {error}")
        for variable in inference.variables:
            found = inference.known.get(variable)
            if found is None:
                self.fail(node, f"{what}: the type argument {variable} cannot be inferred")
            if found is t.UNKNOWN:
                raise Abandoned
            if inference.has_int(found):
                self.fail(
                    node,
                    f"{what}: the width of an int cannot be inferred ({variable} = {found}); write 16w0 or cast it",
                )

    def _bind(
        self,
        node: s.Call,
        parameter: t.Parameter,
        argument: s.Argument | None,
        value: r.Expr | None,
        what: str,
        takes_values: bool,
    ) -> r.Bound:
        if argument is None:
            return r.Bound(parameter, parameter.default)
        text = f"{what}: argument {parameter.name!r}"
        if value is None:
            return r.Bound(parameter, None)
        at = argument.value or argument
        if parameter.direction in ("out", "inout"):
            self.require_lvalue(value, at, text)
            if value.type is not parameter.type and value.type is not t.UNKNOWN:
                self.fail(at, f"{text}: {value.type} where {parameter.type} is needed (out arguments are not cast)")
            return r.Bound(parameter, value)
        if isinstance(parameter.type, t.BlockType):
            return r.Bound(parameter, self._block_argument(parameter.type, value, at, text))
        found = self.coerce(value, parameter.type, at, text)
        if not parameter.direction and not self._is_known(found) and not self._may_be_runtime(node, takes_values):
            self.fail(at, f"{text} has no direction, so it must be known at compile time", Kind.CONSTANT)
        return r.Bound(parameter, found)

    def _may_be_runtime(self, node: s.Call, takes_values: bool) -> bool:
        """Actions called directly take values for parameters without direction; constructors take none."""
        return takes_values and self.where in (Where.APPLY, Where.ACTION)

    def _block_argument(self, target: t.BlockType, value: r.Expr, at: s.Node, text: str) -> r.Expr:
        if value.type is target or value.type is t.UNKNOWN:
            return value
        if not isinstance(value.type, t.BlockType) or not isinstance(value, r.Construct | r.Ref):
            self.fail(at, f"{text}: {value.type} where {target} is needed")
        try:
            Inference(()).unify(target, value.type)
        except InferenceError as error:
            self.fail(at, f"{text}: {error}")
        return value

    def _is_known(self, value: r.Expr) -> bool:
        """Compile-time known (section 18.1): literals, instances, constructor parameters, and what is made of them."""
        if isinstance(value, r.Literal | r.Construct | r.InvalidHeader) or value.type is t.UNKNOWN:
            return True
        if isinstance(value, r.Ref):
            symbol = value.symbol
            if isinstance(symbol, r.VariableSymbol):
                return symbol.is_constructor or isinstance(symbol.type, t.ExternType)
            return True
        if isinstance(value, r.Aggregate):
            return all(map(self._is_known, value.items))
        if isinstance(value, r.Binary):
            return self._is_known(value.left) and self._is_known(value.right)
        return isinstance(value, r.Cast | r.Unary) and self._is_known(value.operand)
