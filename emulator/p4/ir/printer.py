"""The IR as text: for ``netsum compile --dump-after``, for tests, and for people. It is not read back."""

from __future__ import annotations

from emulator.p4 import ir


def print_program(program: ir.Program) -> str:
    """The whole program: storage, externs, actions, tables, then the blocks in the package's order."""
    lines = [f"program {program.name}"]
    types = dict.fromkeys(h.type for h in program.headers)
    for kind in types:
        fields = ", ".join(f"{f.name}: {f.type} @{f.offset_bits}" for f in kind.fields)
        lines.append(f"header type {kind.name} {{ {fields} }}")
    lines += [f"header {h.name}: {h.type.name}" for h in program.headers]
    lines += [f"stack {s.name}: {s.element.name}[{s.size}]" for s in program.stacks]
    lines += [f"var {v.name}: {v.type}" for v in program.variables]
    lines += [f"extern {extern_text(e)}" for e in program.externs]
    lines += [f"group {', '.join(group)}" for group in program.groups]
    lines += [value_set_text(v) for v in program.value_sets]
    lines += [f"field list {number}: {', '.join(v.name for v in kept)}" for number, kept in program.field_lists]
    for action in program.actions:
        lines += print_action(action)
    for table in program.tables:
        lines += print_table(table)
    for name, block in program.blocks:
        lines += print_root(name, block)
    return "\n".join(lines) + "\n"


def print_action(action: ir.Action) -> list[str]:
    parameters = ", ".join(f"{p.name}: {p.type}" for p in action.parameters)
    return [f"action {action.name}({parameters}) {{", *print_block(action.body, 1), "}"]


def print_table(table: ir.Table) -> list[str]:
    lines = [f"table {table.name} {{"]
    lines += [f"  key {k.name}: {k.match_kind} = {expr_text(k.value)}" for k in table.keys]
    for listed in table.actions:
        scope = "" if listed.scope is ir.ActionScope.TABLE_AND_DEFAULT else f" {listed.scope.name.lower()}"
        lines.append(f"  action {listed.action}{scope}")
    const = "const " if table.default_is_const else ""
    lines.append(f"  {const}default {call_text(table.default_action)}")
    lines.append(f"  size {table.size}")
    if table.support_timeout:
        lines.append("  support_timeout")
    lines += [f"  attached {e.name}" for e in table.attached]
    for entry in table.entries:
        keys = ", ".join(map(keyset_text, entry.keysets))
        const = "const " if entry.is_const else ""
        lines.append(f"  {const}entry {keys}: {call_text(entry.call)} priority {entry.priority}")
    return [*lines, "}"]


def print_root(name: str, block: ir.Parser | ir.Control) -> list[str]:
    if isinstance(block, ir.Control):
        return [f"control {name} = {block.name} {{", *print_block(block.body, 1), "}"]
    lines = [f"parser {name} = {block.name} {{"]
    for state in block.states:
        lines.append(f"  state {state.name} {{")
        lines += print_block(state.body, 2)
        lines += _transition(state.transition)
        lines.append("  }")
    return [*lines, "}"]


def _transition(transition: ir.Select | ir.Goto) -> list[str]:
    if isinstance(transition, ir.Goto):
        return [f"    goto {transition.next_state}"]
    lines = [f"    select {', '.join(map(expr_text, transition.keys))} {{"]
    for case in transition.cases:
        label = f"in {case.value_set}" if case.value_set is not None else ", ".join(map(keyset_text, case.keysets))
        lines.append(f"      {label}: {case.next_state}")
    return [*lines, "    }"]


# --- Statements -------------------------------------------------------------------------------------------------


def print_block(block: ir.Block, depth: int = 0) -> list[str]:
    lines: list[str] = []
    for statement in block:
        lines += _statement(statement, "  " * depth, depth)
    return lines


def _braced(head: str, block: ir.Block, indent: str, depth: int) -> list[str]:
    return [f"{indent}{head} {{", *print_block(block, depth + 1)]


def _statement(s: ir.Statement, indent: str, depth: int) -> list[str]:
    match s:
        case ir.If():
            lines = _braced(f"if {expr_text(s.condition)}", s.then, indent, depth)
            if s.otherwise:
                lines += _braced("} else", s.otherwise, indent, depth)
        case ir.Switch():
            lines = [f"{indent}switch {expr_text(s.value)} {{"]
            for case in s.cases:
                lines += [
                    *_braced(f"case {', '.join(map(str, case.values))}:", case.body, indent, depth),
                    f"{indent}}}",
                ]
            if s.default:
                lines += [*_braced("default:", s.default, indent, depth), f"{indent}}}"]
        case ir.Region():
            lines = _braced(f"region {s.name}", s.body, indent, depth)
            if s.cleanup:
                lines += _braced("} cleanup", s.cleanup, indent, depth)
        case ir.Loop():
            lines = _braced("loop", s.prelude, indent, depth) if s.prelude else [f"{indent}loop {{"]
            lines += _braced(f"}} while {expr_text(s.condition)}", s.body, indent, depth)
            if s.update:
                lines += _braced("} update", s.update, indent, depth)
        case ir.Repeat():
            lines = _braced(f"repeat {s.count}", s.body, indent, depth)
        case _:
            return [indent + simple_text(s)]
    return [*lines, f"{indent}}}"]


def simple_text(s: ir.Statement) -> str:
    """A statement without statements inside."""
    match s:
        case ir.Assign():
            return f"{expr_text(s.target)} = {expr_text(s.value)}"
        case ir.SetValidity():
            return f"{header_text(s.header)}.{'setValid' if s.valid else 'setInvalid'}()"
        case ir.CopyHeader():
            return f"{header_text(s.target)} = {header_text(s.source)}"
        case ir.PushFront() | ir.PopFront():
            return f"{s.stack.name}.{'push_front' if isinstance(s, ir.PushFront) else 'pop_front'}({s.count})"
        case ir.CopyNext():
            return f"{s.target.name}.next = {s.source.name}.next"
        case ir.ApplyTable():
            results = [f"{n}={v.name}" for n, v in (("hit", s.hit), ("action_run", s.action_run)) if v is not None]
            return f"apply {s.table}" + (f" -> {', '.join(results)}" if results else "")
        case ir.CallExtern():
            return _extern_call(s)
        case ir.Lookahead():
            targets = ", ".join(f"{v.name}@{offset}" for v, offset in s.targets)
            return f"lookahead {s.total_bits}: {targets}"
        case ir.Extract():
            bits = f", {expr_text(s.variable_bits)}" if s.variable_bits is not None else ""
            return f"extract {header_text(s.header)}{bits}"
        case ir.Emit():
            return f"emit {header_text(s.header)}"
        case ir.Advance():
            return f"advance {expr_text(s.bits)}"
        case ir.Verify():
            return f"verify {expr_text(s.condition)}, {expr_text(s.error)}"
    return type(s).__name__.lower()  # return, exit, break, continue


def _extern_call(s: ir.CallExtern) -> str:
    arguments = ", ".join(map(argument_text, s.arguments))
    method = s.name.rsplit(".", 1)[-1]
    if s.instance is None:
        return f"{s.name}({arguments})"
    if isinstance(s.instance, ir.ExternInstance):
        return f"{s.instance.name}.{method}({arguments})"
    names = s.instance.instances
    return f"[{names[0].name} .. {names[-1].name}].{method}({arguments})"


def argument_text(argument: ir.Argument) -> str:
    if isinstance(argument, tuple):
        return "{" + ", ".join(map(expr_text, argument)) + "}"
    return f'"{argument.text}"' if isinstance(argument, ir.Text) else expr_text(argument)


# --- Expressions ------------------------------------------------------------------------------------------------


def expr_text(e: ir.Expr) -> str:
    match e:
        case ir.Constant():
            if isinstance(e.type, ir.Bool):
                return "true" if e.value else "false"
            signed = isinstance(e.type, ir.Bits) and e.type.signed
            return f"{ir.width_of(e.type)}{'s' if signed else 'w'}{e.value}"
        case ir.Variable():
            return e.name
        case ir.FieldRef():
            return f"{header_text(e.header)}.{e.field.name}"
        case ir.IsValid():
            return f"{header_text(e.header)}.isValid()"
        case ir.StackLastIndex():
            return f"{e.stack.name}.lastIndex"
        case ir.Unary():
            return f"{e.op.value}{expr_text(e.operand)}"
        case ir.Binary():
            return f"({expr_text(e.left)} {e.op.value} {expr_text(e.right)})"
        case ir.Mux():
            return f"({expr_text(e.condition)} ? {expr_text(e.then)} : {expr_text(e.otherwise)})"
        case ir.Cast():
            return f"({e.type}){expr_text(e.operand)}"
        case ir.Slice():
            return f"{expr_text(e.operand)}[{e.high}:{e.low}]"
        case ir.Concat():
            return f"({expr_text(e.left)} ++ {expr_text(e.right)})"
        case ir.LaneField():
            return f"{header_text(e.header)}.{e.first.name}[+i*{e.stride_bits}]"
        case ir.FieldRun():
            return f"{header_text(e.header)}@{e.offset_bits}:{e.width_bits}"
        case ir.PacketLength():
            return "packet.length()"
    raise AssertionError(f"no expression: {e!r}")


def header_text(h: ir.HeaderRef) -> str:
    match h:
        case ir.Header():
            return h.name
        case ir.StackAt():
            return f"{h.stack.name}[{expr_text(h.index)}]"
        case ir.StackNext():
            return f"{h.stack.name}.next"
        case ir.StackLast():
            return f"{h.stack.name}.last"
    raise AssertionError(f"no header: {h!r}")


def keyset_text(k: ir.KeySet) -> str:
    if isinstance(k, ir.Between):
        return f"{k.low} .. {k.high}"
    if k.mask == 0:
        return "_"
    return f"{k.value:#x} &&& {k.mask:#x}"


def call_text(c: ir.ActionCall) -> str:
    return f"{c.action}({', '.join(map(str, c.arguments))})"


def extern_text(e: ir.ExternInstance) -> str:
    types = f"<{', '.join(map(str, e.type_arguments))}>" if e.type_arguments else ""
    return f"{e.name}: {e.extern}{types}({', '.join(map(str, e.arguments))})"


def value_set_text(v: ir.ValueSet) -> str:
    fields = ", ".join(f"{f.name or '_'}: {f.match_kind} {f.type}" for f in v.fields)
    return f"value set {v.name}({v.size}) {{ {fields} }}"
