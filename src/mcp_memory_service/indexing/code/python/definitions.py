"""Functions, classes and lambdas of Python: their scopes, parameters and decorators."""

from collections.abc import Iterable

from tree_sitter import Node

from ..facts import Expr, Op, Parameter, ParameterKind, Scope, Site, SiteFlag, Trait
from ..model import SymbolKind
from .annotations import declared
from .flow import Frame
from .reader import Reader, line_of, text_of

_BY_DECORATOR = {
    "staticmethod": Trait.STATIC,
    "classmethod": Trait.CLASS_METHOD,
    "property": Trait.PROPERTY,
    "cached_property": Trait.PROPERTY,
    "abstractproperty": Trait.PROPERTY | Trait.ABSTRACT,
    "abstractmethod": Trait.ABSTRACT,
    "overload": Trait.OVERLOAD,
    "contextmanager": Trait.CONTEXT_MANAGER,
    "asynccontextmanager": Trait.CONTEXT_MANAGER,
    "fixture": Trait.TEST,
    "wraps": Trait.WRAPPER,
}
# What leaves a function what it is, apart from those above.
_TRANSPARENT = frozenset(
    "lru_cache cache override final no_type_check singledispatch singledispatchmethod dataclass runtime_checkable "
    "total_ordering unique".split()
)
_CLASS_BY_NATURE = frozenset({"__new__", "__init_subclass__", "__class_getitem__"})
_TEST_NAMES = ("test", "setUp", "tearDown", "setup_", "teardown_")


def decorated(r: Reader, node: Node) -> None:
    definition = node.child_by_field_name("definition")
    decorators = [child for child in node.named_children if child.type == "decorator"]
    if definition is not None:
        if definition.type == "class_definition":
            class_(r, definition, node, decorators)
        else:
            function(r, definition, node, decorators)


def function(r: Reader, node: Node, whole: Node | None = None, decorators: Iterable[Node] = ()) -> None:
    name_node = node.child_by_field_name("name")
    name = text_of(name_node) if name_node else ""
    outer = r.frame
    applied, traits = _decorators(r, decorators)
    parameters = node.child_by_field_name("parameters")
    defaults = _defaults(r, parameters)
    is_method = outer.is_class
    scope = _new_scope(r, "method" if is_method else "function", name, whole or node)
    made = r.build.facts.scopes[scope]
    made.traits = traits | _own_traits(r, node, name)
    frame = Frame(scope, _closure(outer), outer.class_scope)
    r.later(lambda: _body(r, node, defaults, is_method=is_method), frame)
    symbol = r.build.expr(Op.SYMBOL, scope)
    setter = next((each for each in applied if each[1].endswith((".setter", ".deleter"))), None)
    if setter is not None and is_method:
        made.traits |= Trait.SETTER
        if setter[1].endswith(".setter"):
            r.build.facts.scopes[outer.scope].setters[name] = symbol
        return
    r.bind(name, _apply(r, applied, symbol))


def lambda_(r: Reader, node: Node) -> Expr:
    return lambda_named(r, node, "")


def lambda_named(r: Reader, node: Node, name: str) -> Expr:
    """Unbound ones are numbered in their scope, together with bound ones."""
    outer = r.frame
    outer.lambdas += 1
    parameters = node.child_by_field_name("parameters")
    defaults = _defaults(r, parameters)
    scope = _new_scope(r, "lambda", name or f"<lambda{outer.lambdas}>", node)
    frame = Frame(scope, _closure(outer), outer.class_scope)
    visible = dict(outer.names) if outer.is_class else outer.names

    def body() -> None:
        _parameters(r, parameters, defaults, is_method=outer.is_class and bool(name))
        # Variables of comprehensions around it are gone when the scope has ended.
        for known, value in visible.items():
            frame.lost.setdefault(known, value)
        r.build.facts.scopes[scope].returns.append(r.expr(node.child_by_field_name("body")))

    r.later(body, frame)
    return r.build.expr(Op.SYMBOL, scope)


def class_(r: Reader, node: Node, whole: Node | None = None, decorators: Iterable[Node] = ()) -> None:
    name_node = node.child_by_field_name("name")
    name = text_of(name_node) if name_node else ""
    outer = r.frame
    applied, _ = _decorators(r, decorators)
    bases = [r.expr(child) for child in _bases(node)]
    scope = _new_scope(r, "class", name, whole or node)
    made = r.build.facts.scopes[scope]
    made.bases = [base for base in bases if base]
    symbol = r.build.expr(Op.SYMBOL, scope)
    r.frame = Frame(scope, _closure(outer), scope, is_class=True)
    r.block(node.child_by_field_name("body"))
    made.members = {name: value for name, value in r.frame.names.items() if name[0] != "#"}
    r.frame = outer
    r.bind(name, _apply(r, applied, symbol))


def _bases(node: Node) -> list[Node]:
    holder = node.child_by_field_name("superclasses")
    bases: list[Node] = []
    for child in holder.named_children if holder is not None else []:
        generic = child.child_by_field_name("value") if child.type == "subscript" else None  # `Generic[T]`
        if child.type not in ("comment", "keyword_argument"):
            bases.append(generic or child)
    return bases


def _closure(frame: Frame) -> Frame | None:
    return frame.outer if frame.is_class else frame


def _new_scope(r: Reader, kind: SymbolKind, name: str, node: Node) -> int:
    parent = r.frame.scope
    qualified = f"{r.build.facts.scopes[parent].qualified_name}.{name}"
    first, last = r.symbols.add(kind, qualified, node, parent)
    return r.build.scope(Scope(kind, qualified, first, last, parent))


def _decorators(r: Reader, decorators: Iterable[Node]) -> tuple[list[tuple[Expr, str, int]], int]:
    """The expressions of those that may change what they stand on, with their texts and lines; and what the others
    say."""
    applied: list[tuple[Expr, str, int]] = []
    traits = 0
    for decorator in decorators:
        node = next((child for child in decorator.named_children if child.type != "comment"), None)
        if node is None:
            continue
        called = node.child_by_field_name("function") if node.type == "call" else node
        text = text_of(called) if called is not None else ""
        last = text.rpartition(".")[2]
        traits |= _BY_DECORATOR.get(last, 0)
        expr = r.expr(node)
        if last not in _BY_DECORATOR and last not in _TRANSPARENT:
            applied.append((expr, text, line_of(node)))
    return applied, traits


def _apply(r: Reader, applied: list[tuple[Expr, str, int]], symbol: Expr) -> Expr:
    value = symbol
    for expr, _, line in reversed(applied):
        flags = SiteFlag.DECORATOR | SiteFlag.IMPLICIT
        value = r.build.call(Site(r.frame.scope, line, expr, [value], [], flags))
    return value


def _own_traits(r: Reader, node: Node, name: str) -> int:
    traits = 0
    if node.children and node.children[0].type == "async":
        traits |= Trait.ASYNC
    body = node.child_by_field_name("body")
    if r.is_stub or (body is not None and _is_stub(body)):
        traits |= Trait.ABSTRACT
    if r.is_test and name.startswith(_TEST_NAMES):
        traits |= Trait.TEST
    if name in _CLASS_BY_NATURE:
        traits |= Trait.CLASS_METHOD
    return traits


def _is_stub(body: Node) -> bool:
    """A docstring, `...`, `raise NotImplementedError`."""
    rest = [child for child in body.named_children if child.type != "comment"]
    if rest and rest[0].type == "expression_statement" and rest[0].named_children[0].type == "string":
        rest = rest[1:]
    if len(rest) != 1 or len(rest[0].named_children) != 1:
        return False
    only = rest[0].named_children[0]
    if rest[0].type == "raise_statement":
        return text_of(only).startswith("NotImplementedError")
    return rest[0].type == "expression_statement" and only.type == "ellipsis"


def _defaults(r: Reader, parameters: Node | None) -> list[Expr]:
    """In the scope around the function; 0 for parameters without one."""
    return [r.expr(each.child_by_field_name("value")) for each in _each_parameter(parameters)]


def _each_parameter(parameters: Node | None) -> list[Node]:
    return [each for each in parameters.named_children if each.type != "comment"] if parameters is not None else []


def _body(r: Reader, node: Node, defaults: list[Expr], *, is_method: bool) -> None:
    scope = r.build.facts.scopes[r.frame.scope]
    _parameters(r, node.child_by_field_name("parameters"), defaults, is_method=is_method)
    scope.declared = declared(r, node.child_by_field_name("return_type"))
    body = node.child_by_field_name("body")
    r.block(body)
    if scope.yields:
        scope.traits |= Trait.GENERATOR


def _parameters(r: Reader, parameters: Node | None, defaults: list[Expr], *, is_method: bool) -> None:
    scope = r.build.facts.scopes[r.frame.scope]
    kind = ParameterKind.PLAIN
    for node, default in zip(_each_parameter(parameters), defaults, strict=True):
        if node.type == "positional_separator":
            for each in scope.parameters:
                each.kind = ParameterKind.POSITIONAL
        elif node.type == "keyword_separator":
            kind = ParameterKind.NAMED
        else:
            found = _parameter(r, node, default, kind)
            if found.kind == ParameterKind.REST:
                kind = ParameterKind.NAMED
            scope.parameters.append(found)
            _bind_parameter(r, found, is_first=is_method and len(scope.parameters) == 1)


def _parameter(r: Reader, node: Node, default: Expr, kind: int) -> Parameter:
    name = node.child_by_field_name("name") or (node if node.type == "identifier" else node.named_children[0])
    inner = name
    if name.type == "list_splat_pattern":
        kind = ParameterKind.REST
    elif name.type == "dictionary_splat_pattern":
        kind = ParameterKind.NAMED_REST
    elif node.type in ("list_splat_pattern", "dictionary_splat_pattern"):
        kind = ParameterKind.REST if node.type == "list_splat_pattern" else ParameterKind.NAMED_REST
    if name.type.endswith("splat_pattern"):
        inner = name.named_children[0]
    promised = declared(r, node.child_by_field_name("type"))
    return Parameter(text_of(inner), r.build.slot(), kind, promised, default)


def _bind_parameter(r: Reader, parameter: Parameter, *, is_first: bool) -> None:
    value = r.build.expr(Op.SLOT, parameter.slot)
    traits = r.build.facts.scopes[r.frame.scope].traits
    plain = parameter.kind in (ParameterKind.PLAIN, ParameterKind.POSITIONAL)
    if is_first and plain and not traits & Trait.STATIC:
        value = r.build.expr(Op.CLS if traits & Trait.CLASS_METHOD else Op.SELF, r.frame.class_scope)
    r.frame.parameters.add(parameter.name)
    r.bind(parameter.name, value)
