"""All mutants that the operators make of the privacy core, each with a name that outlives changes elsewhere."""

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import sha256

from tests.mutants.generated.core import MECHANISMS, Part
from tests.mutants.generated.operators import GENERIC, PRIVATE, Change, Source
from tests.mutants.mutant import ROOT

MOST_GENERIC = 30
"""Number of generic faults of a mechanism; there are thousands, most of which one test finds like another."""


@dataclass(frozen=True, kw_only=True)
class Generated:
    """A fault that an operator makes.

    Attributes:
        mechanism: whose fault it is.
        file: path from the checkout's root.
        function: the outermost function, `Class.method` for a method, and "" for what runs when the module is imported.
        kind: the kind of fault.
        breaks: the fault, in words.
        begin: offset of what is replaced, in bytes of UTF-8.
        before: what is replaced.
        after: what is put in its place.
        subject: the name by which others use what is mutated: of the function, the constant, or the class.
        number: how many of the same before it in the function.
        is_kernel: whether compiled code contains it.
        is_private: whether it is of a kind that matters to privacy wherever it fits.
    """

    mechanism: str
    file: str
    function: str
    kind: str
    breaks: str
    begin: int
    before: str
    after: str
    subject: str
    number: int
    is_kernel: bool
    is_private: bool

    @property
    def name(self) -> str:
        """Twelve hexadecimal digits, which do not depend on the rest of the file."""
        own = [self.file, self.function, self.kind, self.before, self.after, str(self.number)]
        return sha256("\0".join(own).encode()).hexdigest()[:12]

    @property
    def is_at_import(self) -> bool:
        """Whether it runs when the module is imported: outside all functions, or in the body of a class."""
        return "." not in self.function and not self.function[:1].islower() and not self.function.startswith("_")

    @property
    def line(self) -> int:
        """The line at which the fault begins."""
        return _text(self.file).encode()[: self.begin].count(b"\n") + 1

    def mutated(self) -> str:
        """The source with the fault."""
        source = _text(self.file).encode()
        assert source[self.begin :].startswith(self.before.encode())
        behind = source[self.begin + len(self.before.encode()) :]
        return (source[: self.begin] + self.after.encode() + behind).decode()


@cache
def mutants() -> tuple[Generated, ...]:
    """All of them, by mechanism."""
    return tuple(each for mechanism in MECHANISMS for each in _of_mechanism(mechanism))


def _of_mechanism(mechanism: str) -> list[Generated]:
    """All faults of privacy, and of the generic ones those with the smallest names, which are as good as random."""
    made = [each for part in MECHANISMS[mechanism] for each in _of_part(mechanism, part)]
    generic = sorted((each for each in made if not each.is_private), key=lambda each: each.name)
    kept = {each.name for each in generic[:MOST_GENERIC]}
    return [each for each in made if each.is_private or each.name in kept]


def _of_part(mechanism: str, part: Part) -> Iterator[Generated]:
    return made_of(mechanism, part.file, _text(part.file), part.functions)


def made_of(mechanism: str, file: str, text: str, functions: tuple[str, ...]) -> Iterator[Generated]:
    """Mutants of one source.

    Args:
        mechanism: whose they are.
        file: path from the checkout's root.
        text: the source.
        functions: see `Part`.
    """
    source = Source.of(text)
    alike: Counter[tuple[str, ...]] = Counter()
    seen = set()
    for function, node, is_kernel in places(source.tree):
        covered = _is_covered(function, functions)
        for operators in (PRIVATE, GENERIC if covered else ()):
            for operator in operators:
                for change in operator(source, node):
                    begin, end = source.span(change.node)
                    place = (begin, end, change.after)
                    if place in seen or not _is_python(change):
                        continue
                    seen.add(place)
                    before = source.text.encode()[begin:end].decode()
                    same = (function, change.kind, before, change.after)
                    yield Generated(
                        mechanism=mechanism,
                        file=file,
                        function=function,
                        kind=change.kind,
                        breaks=change.breaks,
                        begin=begin,
                        before=before,
                        after=change.after,
                        subject=_subject(function, source.tree, _line_of(change.node)),
                        number=alike[same],
                        is_kernel=is_kernel,
                        is_private=operators is PRIVATE,
                    )
                    alike[same] += 1


def places(tree: ast.Module) -> Iterator[tuple[str, ast.AST, bool]]:  # noqa: C901 - two short functions
    """The nodes in which faults are tried, each with its outermost function, and whether that is compiled."""

    def inside(node: ast.AST, function: str, *, is_kernel: bool) -> Iterator[tuple[str, ast.AST, bool]]:
        if _is_left_out(node):
            return
        yield function, node, is_kernel
        for name, value in ast.iter_fields(node):
            if name in {"annotation", "returns", "decorator_list", "type_params"}:
                continue
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from inside(child, function, is_kernel=is_kernel)

    def of_body(body: list[ast.stmt], owner: str) -> Iterator[tuple[str, ast.AST, bool]]:
        for statement in body:
            if isinstance(statement, ast.FunctionDef):
                yield from inside(statement, owner + statement.name, is_kernel=_is_compiled(statement))
            elif isinstance(statement, ast.ClassDef):
                yield from of_body(statement.body, f"{statement.name}.")
            else:
                yield from inside(statement, owner.rstrip("."), is_kernel=False)

    yield from of_body(tree.body, "")


def _is_left_out(node: ast.AST) -> bool:
    """Whether there is nothing to break: types, words, refusals' texts, what only checkers of types read."""
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return True
    if isinstance(node, ast.AnnAssign) and isinstance(node.annotation, ast.Name):
        return node.annotation.id == "TypeAlias"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Name):
        return node.value.func.id in {"TypeVar", "ProductKey"}
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _line_of(node: ast.AST) -> int:
    """The line on which a node begins."""
    assert isinstance(node, ast.expr | ast.stmt)
    return node.lineno


def _subject(function: str, tree: ast.Module, line: int) -> str:
    """The name of a function or a class, or of the constant that is assigned on a line."""
    if function:
        return function.rpartition(".")[2]
    for statement in tree.body:
        if statement.lineno <= line <= (statement.end_lineno or 0):
            targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
            names = (each for target in targets if target is not None for each in ast.walk(target))
            return next((each.id for each in names if isinstance(each, ast.Name)), "")
    return ""


def _is_covered(function: str, functions: tuple[str, ...]) -> bool:
    owner, _, name = function.rpartition(".")
    return "*" in functions or bool({owner, name, function} & set(functions) - {""})


def _is_compiled(function: ast.FunctionDef) -> bool:
    """Whether numba compiles it."""
    names = {word for decorator in function.decorator_list for word in re.findall(r"\w+", ast.unparse(decorator))}
    return bool(names & {"njit", "kernel", "inner_kernel"})


def _is_python(change: Change) -> bool:
    """Whether the replacement can be read: an expression that cannot would be found by any test."""
    try:
        ast.parse(change.after if isinstance(change.node, ast.stmt) else f"({change.after})")
    except SyntaxError:
        return False
    return True


@cache
def _text(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")
