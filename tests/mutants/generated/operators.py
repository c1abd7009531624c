"""Kinds of faults, each as replacements of one expression or statement that its syntax tree locates.

Faults of privacy come first: streams that several draws share, noise that counts mask, choices that are too sharp,
charges that are too small. Generic faults follow: comparisons, constants, arithmetic.
"""

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

_STREAMS = {"open_stream", "stream", "opened"}
_NOISE = {"noise", "added", "drawn_noise"}
_LAWS = {"DiscreteLaplace": "scale", "DiscreteGaussian": "variance"}
_TYPES = {"str", "int", "bool", "float", "list", "tuple", "dict", "bytes"}
_LARGER = {"max", "maximum"}
_SMALLER = {"min", "minimum"}


@dataclass(frozen=True)
class Change:
    """A replacement of a stretch of a source.

    Attributes:
        node: where it begins and ends.
        after: what is put there.
        kind: the kind of fault.
        breaks: the fault, in words.
    """

    node: ast.AST
    after: str
    kind: str
    breaks: str


@dataclass(eq=False)
class Source:
    """A source file and its syntax tree."""

    text: str
    tree: ast.Module

    @classmethod
    def of(cls, text: str) -> "Source":
        """Read a source."""
        return cls(text, ast.parse(text))

    def said(self, node: ast.AST) -> str:
        """The text of a node."""
        begin, end = self.span(node)
        return self._encoded[begin:end].decode()

    def span(self, node: ast.AST) -> tuple[int, int]:
        """First offset of a node and the one behind its last, in bytes of UTF-8."""
        assert isinstance(node, ast.expr | ast.stmt | ast.keyword)
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        begins = self._begins
        return begins[node.lineno - 1] + node.col_offset, begins[node.end_lineno - 1] + node.end_col_offset

    @cached_property
    def _encoded(self) -> bytes:
        return self.text.encode()

    @cached_property
    def _begins(self) -> list[int]:
        begins = [0]
        for line in self._encoded.splitlines(keepends=True):
            begins.append(begins[-1] + len(line))
        return begins


Operator: TypeAlias = Callable[[Source, ast.AST], Iterator[Change]]


def shared_streams(source: Source, node: ast.AST) -> Iterator[Change]:  # noqa: C901 - four places
    """Leave out one parameter of a stream; let chunks or kinds of draws share one; open it for any inputs."""
    for parameters in _parameter_displays(node):
        for number, key in enumerate(parameters.keys):
            kept = [i for i in range(len(parameters.keys)) if i != number]
            after = "{" + ", ".join(_item(source, parameters, i) for i in kept) + "}"
            name = "what another mapping holds" if key is None else source.said(key)
            yield Change(parameters, after, "parameter left out", f"draws do not depend on {name}")
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        target = node.targets[0]
        named = isinstance(target.value, ast.Name) and target.value.id in {"parameters", "found"}
        if named and isinstance(target.slice, ast.Constant) and isinstance(target.slice.value, str):
            breaks = f"draws do not depend on {source.said(target.slice)}"
            yield Change(node, "pass", "parameter left out", breaks)
    if not (isinstance(node, ast.Call) and _called(node) in _STREAMS):
        return
    for keyword in node.keywords:
        if keyword.arg == "chunk" and not isinstance(keyword.value, ast.Constant):
            yield Change(keyword.value, "0", "chunk shared", "all chunks share a stream")
        if keyword.arg == "mechanism" and not isinstance(keyword.value, ast.Constant):
            yield Change(keyword.value, '"draw"', "stream shared", "draws of several kinds share a stream")
        if keyword.arg == "inputs":
            yield Change(keyword.value, '""', "stream shared", "other data are noised with the same noise")
        if keyword.arg == "step":
            yield Change(keyword.value, '"step"', "stream shared", "steps share their streams")


def masked_noise(source: Source, node: ast.AST) -> Iterator[Change]:
    """Let counts decide where there is noise and how much; leave it out, halve it, or make it one-sided."""
    if isinstance(node, ast.Call) and _is_draw(node):
        drawn = source.said(node)
        yield Change(node, f"(0 * {drawn})", "no noise", "nothing is added")
        yield Change(node, f"({drawn} // 2)", "noise halved", "half the noise is added")
        yield Change(node, f"abs({drawn})", "one-sided noise", "noise is never below 0")
    if not (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add)):
        return
    for exact, noise in ((node.left, node.right), (node.right, node.left)):
        if not _is_noise(noise):
            continue
        counts, added = source.said(exact), source.said(noise)
        total = f"int(__import__('numpy').sum({counts}))"
        for after, breaks in (
            (f"({counts}) * 1 + {added} * (({counts}) > 0)", "where nothing was counted there is no noise"),
            (f"({counts}) * 1 + {added} * (({counts}) == 0)", "only where nothing was counted there is noise"),
            (f"({counts}) * 1 + {added} * ({total} > 0)", "there is noise only if anything was counted"),
            (f"({counts}) * 1 + {added} * (1 + {total} % 2)", "the exact total decides how much noise there is"),
        ):
            yield Change(node, f"({after})", "noise masked by counts", breaks)
        return


def sharp_choices(source: Source, node: ast.AST) -> Iterator[Change]:
    """Choose by twice the epsilon or half the sensitivity; take the best; offer only candidates that counts support."""
    if not (isinstance(node, ast.Call) and _called(node) == "choose" and node.args):
        return
    for keyword in node.keywords:
        own = source.said(keyword.value)
        if keyword.arg == "epsilon":
            yield Change(keyword.value, f"2 * ({own})", "epsilon of a choice doubled", "drawn with twice the epsilon")
        if keyword.arg == "sensitivity" and not isinstance(keyword.value, ast.Constant):
            after = f"max(({own}) // 2, 1)"
            yield Change(keyword.value, after, "sensitivity halved", "scores are said to change half as much")
    scores, rest = source.said(node.args[0]), _rest(source, node)
    name = source.said(node.func)
    best = "max(range(len(s)), key=s.__getitem__)"
    yield Change(node, f"(lambda s: {best})(list({scores}))", "best taken", "the best candidate is taken")
    yield Change(
        node,
        f"(lambda s: {best} if max(s) > 2 * abs(sorted(s)[-2 % len(s)]) + 8 else {name}(s{rest}))(list({scores}))",
        "best taken",
        "the best candidate is taken when it is far ahead",
    )
    if "s" in _names(node) or any(isinstance(each, ast.Starred) for each in node.args):
        return
    yield Change(
        node,
        f"(lambda s: (lambda i: i[{name}([s[j] for j in i]{rest})])"
        f"([j for j in range(len(s)) if s[j] > 0] or list(range(len(s)))))(list({scores}))",
        "candidates filtered by counts",
        "only candidates with positive scores are offered",
    )


def narrow_laws(source: Source, node: ast.AST) -> Iterator[Change]:
    """Draw from narrower laws than are charged."""
    if isinstance(node, ast.Call) and _called(node) in _LAWS and len(node.args) == 1:
        own, what = source.said(node.args[0]), _LAWS[_called(node)]
        yield Change(node.args[0], f"({own}) / 2", "law narrowed", f"the {what} of the noise is halved")
        yield Change(node.args[0], f"({own}) * 9 / 10", "law narrowed", f"the {what} of the noise is nine tenths")


def small_charges(source: Source, node: ast.AST) -> Iterator[Change]:  # noqa: C901 - three kinds of calls
    """Charge one event fewer, one output fewer, or noise that is wider than what is drawn."""
    if isinstance(node, ast.FunctionDef) and ("events" in node.name or node.name in {"amounts", "costs"}):
        for made in ast.walk(node):
            if isinstance(made, ast.Return) and isinstance(made.value, ast.Tuple) and made.value.elts:
                for number, left_out in enumerate(made.value.elts):
                    kept = [source.said(each) for i, each in enumerate(made.value.elts) if i != number]
                    after = "(" + "".join(f"{each}, " for each in kept) + ")"
                    breaks = f"not charged: {' '.join(source.said(left_out).split())[:60]}"
                    yield Change(made.value, after, "event left out", breaks)
    if not isinstance(node, ast.Call):
        return
    called = _called(node)
    if called == "count_events" and len(node.args) == 3:
        tables, _, amount = map(source.said, node.args)
        yield Change(node.args[0], f"max(({tables}) - 1, 1)", "charged once too little", "one table is not charged")
        yield Change(node.args[2], f"2 * ({amount})", "charged for wider noise", "charged for twice the noise")
    if called == "noisy_integers" and len(node.args) >= 2:
        amount = source.said(node.args[1])
        yield Change(node.args[1], f"2 * ({amount})", "charged for wider noise", "charged for twice the noise")
    if called in {"noisy_integers", "MechanismEvent", "PrivacyTestEvent", "SampledTestEvent", "tested_candidates"}:
        for keyword in node.keywords:
            own = source.said(keyword.value)
            if keyword.arg in {"outputs", "candidates", "repetitions"}:
                after = f"max(({own}) - 1, 1)" if own != "1" else "0"
                yield Change(keyword.value, after, "charged once too little", "one answer is not charged")
            if keyword.arg in {"epsilon", "eps0", "delta_per_output", "sensitivity"}:
                yield Change(keyword.value, f"({own}) / 2", "half charged", f"half of {keyword.arg} is charged")


def exact_orders(source: Source, node: ast.AST) -> Iterator[Change]:
    """Leave things in the order in which records or counts have them."""
    if isinstance(node, ast.Call) and _called(node) == "sorted" and len(node.args) == 1:
        own = source.said(node.args[0])
        inner = own if own.startswith("(") or not isinstance(node.args[0], ast.GeneratorExp) else f"({own})"
        yield Change(node, f"list({inner})", "not sorted", "the order is that of the data")


def refusals_left_out(source: Source, node: ast.AST) -> Iterator[Change]:
    """Refuse nothing where something must be refused."""
    raises = isinstance(node, ast.If) and len(node.body) >= 1 and isinstance(node.body[-1], ast.Raise)
    if raises and not node.orelse:
        said = " ".join(source.said(node.test).split())[:60]
        yield Change(node.test, "False", "refusal left out", f"not refused: {said}")


def floors_dropped(source: Source, node: ast.AST) -> Iterator[Change]:
    """Take one argument of a largest or smallest of two; round the other way; add up as if only one counted."""
    if not isinstance(node, ast.Call):
        return
    called = _called(node)
    if called in _LARGER | _SMALLER and len(node.args) == 2 and not node.keywords:
        word = "floor" if called in _LARGER else "cap"
        for kept, left in ((0, 1), (1, 0)):
            said = " ".join(source.said(node.args[left]).split())[:50]
            breaks = f"the {word} {said} is dropped"
            yield Change(node, f"({source.said(node.args[kept])})", f"{word} dropped", breaks)
    if called in {"ceil", "floor"} and isinstance(node.func, ast.Attribute):
        other = "floor" if called == "ceil" else "ceil"
        after = source.said(node.func.value) + f".{other}"
        yield Change(node.func, after, "rounded the other way", f"rounded by {other}")
    if called in {"sum", "fsum"} and len(node.args) == 1 and not node.keywords and not _is_count(node.args[0]):
        own = source.said(node.args[0])
        own = own if own.startswith("(") or not isinstance(node.args[0], ast.GeneratorExp) else f"({own})"
        yield Change(node, f"max({own}, default=0)", "largest for sum", "only the largest counts")


_BOUNDARY: dict[type[ast.cmpop], str] = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">"}
_NEGATED: dict[type[ast.cmpop], str] = {
    ast.Lt: ">=",
    ast.LtE: ">",
    ast.Gt: "<=",
    ast.GtE: "<",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
}


def comparisons(source: Source, node: ast.AST) -> Iterator[Change]:
    """Shift a boundary, turn a comparison or a coin around, swap branches."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = source.said(node.left), source.said(node.comparators[0])
        for words, kind in ((_BOUNDARY, "boundary"), (_NEGATED, "comparison turned around")):
            if (operator := words.get(type(node.ops[0]))) is not None:
                breaks = f"compared by {operator}: {' '.join(source.said(node).split())[:60]}"
                yield Change(node, f"({left} {operator} {right})", kind, breaks)
    if isinstance(node, ast.Compare) and len(node.ops) == 2:
        terms = [node.left, *node.comparators]
        for number, operator_ in enumerate(node.ops):
            if (operator := _BOUNDARY.get(type(operator_))) is None:
                continue
            signs = [_sign(each) for each in node.ops]
            signs[number] = operator
            after = f"({source.said(terms[0])} {signs[0]} {source.said(terms[1])} {signs[1]} {source.said(terms[2])})"
            yield Change(node, after, "boundary", f"compared by {operator}: {source.said(node)[:60]}")
    if isinstance(node, ast.BoolOp):
        word = " or " if isinstance(node.op, ast.And) else " and "
        after = "(" + word.join(f"({source.said(each)})" for each in node.values) + ")"
        yield Change(node, after, "and for or", f"joined by{word.rstrip()}: {' '.join(source.said(node).split())[:60]}")
    if isinstance(node, ast.IfExp):
        body, otherwise = source.said(node.body), source.said(node.orelse)
        after = f"({otherwise} if {source.said(node.test)} else {body})"
        yield Change(node, after, "branches swapped", f"swapped: {' '.join(source.said(node).split())[:60]}")
    if isinstance(node, ast.Call) and _called(node) == "where" and len(node.args) == 3:
        condition, one, other = map(source.said, node.args)
        after = f"{source.said(node.func)}({condition}, {other}, {one})"
        yield Change(node, after, "branches swapped", f"swapped: {' '.join(source.said(node).split())[:60]}")


_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "+",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Pow: "*",
    ast.Mod: "//",
    ast.LShift: ">>",
    ast.RShift: "<<",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.BitXor: "|",
}


def arithmetic(source: Source, node: ast.AST) -> Iterator[Change]:
    """Put another operator, or the next number."""
    if isinstance(node, ast.BinOp) and not (_is_text(node.left) or _is_text(node.right)):
        operator = _ARITHMETIC.get(type(node.op))
        if operator is not None:
            breaks = f"computed with {operator}: {' '.join(source.said(node).split())[:60]}"
            after = f"({_in_brackets(source, node.left)} {operator} {_in_brackets(source, node.right)})"
            yield Change(node, after, "arithmetic", breaks)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
        yield Change(node, f"({source.said(node.operand)})", "sign", f"the sign is dropped: {source.said(node)[:60]}")
    if isinstance(node, ast.Constant) and type(node.value) is int:
        after = str(node.value + 1 if node.value in {0, 1} else node.value - 1)
        yield Change(node, after, "constant", f"{node.value} becomes {after}")


PRIVATE: tuple[Operator, ...] = (
    shared_streams,
    masked_noise,
    sharp_choices,
    narrow_laws,
    small_charges,
    exact_orders,
)
"""Faults of privacy."""

GENERIC: tuple[Operator, ...] = (refusals_left_out, floors_dropped, comparisons, arithmetic)
"""Faults of any code."""


def _parameter_displays(node: ast.AST) -> Iterator[ast.Dict]:
    """Displays of a stream's parameters: the argument of a call, or what is assigned or returned under that name."""
    if isinstance(node, ast.Call) and _called(node) in _STREAMS:
        found = [each.value for each in node.keywords if each.arg == "parameters"]
    elif isinstance(node, ast.AnnAssign | ast.Assign):
        targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
        named = any(isinstance(each, ast.Name) and each.id == "parameters" for each in targets)
        found = [node.value] if named and node.value is not None else []
    elif isinstance(node, ast.FunctionDef) and node.name.endswith("_parameters"):
        found = [each.value for each in ast.walk(node) if isinstance(each, ast.Return) and each.value is not None]
    else:
        found = []
    yield from (each for each in found if isinstance(each, ast.Dict))


def _item(source: Source, display: ast.Dict, number: int) -> str:
    key, value = display.keys[number], source.said(display.values[number])
    return f"**{value}" if key is None else f"{source.said(key)}: {value}"


def _called(node: ast.Call) -> str:
    """The last name of what is called."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def _rest(source: Source, node: ast.Call) -> str:
    """Arguments after the first, as they are written."""
    given = [source.said(each) for each in node.args[1:]]
    given += [f"{each.arg}={source.said(each.value)}" for each in node.keywords]
    return "".join(f", {each}" for each in given)


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _is_draw(node: ast.Call) -> bool:
    """Whether this draws noise: law.sample(stream, size)."""
    return _called(node) == "sample" and len(node.args) == 2


def _is_noise(node: ast.AST) -> bool:
    """Whether a term is noise, or is computed from it."""
    drawn = any(isinstance(each, ast.Call) and _is_draw(each) for each in ast.walk(node))
    return drawn or bool(_names(node) & _NOISE)


def _is_count(node: ast.AST) -> bool:
    """Whether what is summed up are conditions: how many of them hold."""
    return isinstance(node, ast.GeneratorExp) and isinstance(node.elt, ast.Compare | ast.BoolOp | ast.Constant)


def _is_text(node: ast.AST) -> bool:
    """Whether this is text, a list or a type, with which nothing is computed."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str | bytes)
    if isinstance(node, ast.Name):
        return node.id in _TYPES
    return isinstance(node, ast.JoinedStr | ast.List | ast.Tuple | ast.ListComp)


def _in_brackets(source: Source, node: ast.AST) -> str:
    said = source.said(node)
    return said if isinstance(node, ast.Name | ast.Constant | ast.Call | ast.Attribute) else f"({said})"


def _sign(operator: ast.cmpop) -> str:
    return {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="}[type(operator)]
