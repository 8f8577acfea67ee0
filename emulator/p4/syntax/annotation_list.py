"""Annotations, and the shapes that the language and p4c fix (section 20; p4c: frontends/p4/parseAnnotations.cpp)."""

from __future__ import annotations

from collections.abc import Callable

from emulator.p4.errors import Kind
from emulator.p4.syntax import tree as s
from emulator.p4.syntax.cursor import Cursor
from emulator.p4.syntax.lexer import KEYWORDS, integer_value

Report = Callable[[str, int, Kind], None]


WITHOUT_BODY = frozenset((
    "tableonly", "defaultonly", "atomic", "hidden", "optional", "pure", "noSideEffects", "unroll", "nounroll", "likely",
    "unlikely",
))  # fmt: skip
ONE_STRING = frozenset((
    "name", "deprecated", "noWarn", "controller_header", "brief", "description", "selector_size_semantics",
))  # fmt: skip
ONE_NUMBER = frozenset(("id", "max_group_size", "max_member_weight"))
ONE_VALUE = frozenset(("match", "length"))
PAIRS = frozenset(("pkginfo", "platform_property"))
VALUES = frozenset(("field_list", "synchronous"))
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")


def parse(cx: Cursor) -> s.Annotations:
    if cx.kinds[cx.position] != "@":
        return ()
    found: list[s.Annotation] = []
    while cx.kinds[cx.position] == "@":
        found.append(_annotation(cx))
    _check_shapes(tuple(found), cx.report)
    return tuple(found)


def _annotation(cx: Cursor) -> s.Annotation:
    at = cx.expect("@", "before an annotation")
    name = cx.texts[cx.position]
    if cx.kinds[cx.position] not in KEYWORDS and cx.kinds[cx.position] != "ID":
        cx.fail("expected an annotation's name")
    cx.position += 1
    if name == "pragma":
        return _pragma(cx, at)
    if cx.is_at("("):
        return s.Annotation(at, name, _balanced(cx, "(", ")"), False)
    if cx.is_at("["):
        return s.Annotation(at, name, _balanced(cx, "[", "]"), True)
    return s.Annotation(at, name, None, False)


def _pragma(cx: Cursor, at: int) -> s.Annotation:
    line = cx.tokens.places[at] >> 16
    first = cx.position
    while cx.kinds[cx.position] != "EOF" and cx.tokens.places[cx.position] >> 16 == line:
        cx.position += 1
    body = cx.texts[first : cx.position]
    return s.Annotation(at, body[0] if body else "pragma", tuple(body[1:]), False)


def _balanced(cx: Cursor, opening: str, closing: str) -> tuple[str, ...]:
    start = cx.expect(opening, "of an annotation")
    depth = 1
    while depth:
        kind = cx.kinds[cx.position]
        if kind == "EOF":
            cx.fail(f"expected '{closing}' after the annotation's body", start)
        depth += (kind == opening) - (kind == closing)
        cx.position += 1
    return tuple(cx.texts[start + 1 : cx.position - 1])


# --- shapes -----------------------------------------------------------------------------------------------------------


def _check_shapes(annotations: s.Annotations, report: Report) -> None:
    """Report what is wrong with the annotations of one element; ``report`` takes a text, a token and a kind."""
    seen: dict[str, s.Annotation] = {}
    for annotation in annotations:
        known = seen.setdefault(annotation.name, annotation)
        if known is not annotation and known.is_structured != annotation.is_structured:
            report(
                f"@{annotation.name} is structured here and not there on the same element",
                annotation.at,
                Kind.DUPLICATE,
            )
        elif known is not annotation and annotation.is_structured:
            report(
                f"the structured annotation @{annotation.name} occurs twice on the same element",
                annotation.at,
                Kind.DUPLICATE,
            )
        if annotation.is_structured:
            _structured(annotation, report)
        else:
            _unstructured(annotation, report)


def _unstructured(annotation: s.Annotation, report: Report) -> None:
    name, tokens = annotation.name, annotation.tokens or ()
    if name in WITHOUT_BODY and tokens:
        report(f"@{name} takes no arguments", annotation.at, Kind.SYNTAX)
    elif name in ONE_STRING and not _is_string(tokens):
        report(f"@{name} takes a string", annotation.at, Kind.SYNTAX)
    elif name in ONE_NUMBER and (len(tokens) != 1 or integer_value(tokens[0]) is None):
        report(f"@{name} takes one number", annotation.at, Kind.SYNTAX)
    elif name in PAIRS and any(len(part) < 3 or part[1] != "=" for part in parts(tokens)):
        report(f"@{name} takes key = value pairs", annotation.at, Kind.SYNTAX)
    elif name == "p4runtime_translation" and not _is_translation(parts(tokens)):
        report(
            "@p4runtime_translation takes a URI, as a string, and a width, bit<W> or string", annotation.at, Kind.SYNTAX
        )
    elif name in ONE_VALUE and (not tokens or len(parts(tokens)) != 1):
        report(f"@{name} takes one value", annotation.at, Kind.SYNTAX)
    elif name in VALUES and any(not part for part in parts(tokens)):
        report(f"@{name} takes values with commas between them", annotation.at, Kind.SYNTAX)


def _is_string(tokens: tuple[str, ...]) -> bool:
    """String literals joined by ``++``."""
    plain = [token for token in tokens if token not in ("(", ")")]
    return (
        bool(plain)
        and len(plain) % 2 == 1
        and all(token == "++" if position % 2 else token.startswith('"') for position, token in enumerate(plain))
    )


def _is_translation(found: list[tuple[str, ...]]) -> bool:
    if len(found) != 2 or not _is_string(found[0]):
        return False
    words = found[1]
    return (
        words == ("string",) or words[:2] == ("bit", "<") or (len(words) == 1 and integer_value(words[0]) is not None)
    )


def _structured(annotation: s.Annotation, report: Report) -> None:
    """Expressions or ``key = expression`` pairs, not both, and no key twice."""
    found = parts(annotation.tokens or ())
    is_pair = [len(part) > 1 and part[1] == "=" for part in found]
    if any(not part for part in found):
        report(f"@{annotation.name}[...] has an empty element", annotation.at, Kind.SYNTAX)
    elif any(is_pair) and not all(is_pair):
        report(
            f"@{annotation.name}[...] holds either values or key = value pairs, not both", annotation.at, Kind.SYNTAX
        )
    elif any(is_pair):
        keys = [part[0] for part in found]
        for position, key in enumerate(keys):
            if key in keys[:position]:
                report(f"@{annotation.name}[...] has the key {key!r} twice", annotation.at, Kind.DUPLICATE)


def parts(tokens: tuple[str, ...]) -> list[tuple[str, ...]]:
    """What is between the commas of a body, brackets respected; a comma at the end adds nothing."""
    found: list[list[str]] = []
    depth = 0
    for token in tokens:
        if not found:
            found.append([])
        if token == "," and depth == 0:
            found.append([])
            continue
        depth += (token in _OPENING) - (token in _CLOSING)
        found[-1].append(token)
    if len(found) > 1 and not found[-1]:
        found.pop()
    return [tuple(part) for part in found]
