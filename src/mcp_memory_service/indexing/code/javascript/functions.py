"""Functions of all forms: their parameters, their bodies, what they return, and what `this` is in them."""

from tree_sitter import Node

from ..facts import Expr, Op, Parameter, ParameterKind, SiteFlag, Trait
from ..model import SymbolKind
from .grammars import bound_names
from .patterns import destructure
from .reader import Reader, decorate, field_of, text_of
from .types import declare_type_parameters, declared_type
from .variables import Block, Frame


def function_expression(r: Reader, node: Node, name: str) -> Expr:
    """`function () {}`, `function* () {}`, `() => x`"""
    number = r.scope_of(node)
    if number is None:
        return 0
    own = text_of(field_of(node, "name"))
    if own:
        name = f"{name.rpartition('.')[0] or r.frame.path}.{own}"
    kind: SymbolKind = "function" if name else "lambda"
    define_function(r, node, number, name or anonymous_name(r), kind)
    return r.symbol(number)


def anonymous_name(r: Reader) -> str:
    r.frame.anonymous += 1
    return f"{r.frame.path}.<anonymous{r.frame.anonymous}>"


def function_declaration(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    if number is not None:
        define_function(r, node, number, f"{r.frame.path}.{text_of(field_of(node, 'name'))}", "function")


def define_function(
    r: Reader,
    node: Node,
    number: int,
    path: str,
    kind: SymbolKind,
    this: Expr = 0,
    class_scope: int = -1,
    traits: int = 0,
) -> None:
    """`this` is told for methods of classes and prototypes; an arrow function has that of the scope around it."""
    scope = r.scope(number)
    scope.kind, scope.qualified_name, scope.parent = kind, path, r.frame.scope
    scope.traits = traits | _traits(node)
    if node.type == "arrow_function":
        this, class_scope = r.frame.this, r.frame.class_scope
        scope.traits |= Trait.THIS_FROM_OUTSIDE
    elif not this:
        scope.this = r.build.slot()
        this = r.slot_value(scope.this)
        if kind != "method":
            r.build.bind(scope.this, r.build.expr(Op.SELF, number))
            class_scope = number
    elif r.op(this) == Op.SLOT:
        scope.this = r.build.slot(this)
        this = r.slot_value(scope.this)
    frame = Frame(number, path, r.frame, this, class_scope)
    r.later(lambda: _read_function(r, node, frame), frame)


def _traits(node: Node) -> int:
    found = 0
    for child in node.children:
        if child.type == "*":
            found |= Trait.GENERATOR
        elif child.type == "get":
            found |= Trait.PROPERTY
        elif child.type == "set":
            found |= Trait.SETTER
        elif child.type in {"formal_parameters", "statement_block", "=>"}:
            break
    return found | (Trait.GENERATOR if node.type.startswith("generator") else 0)


def _read_function(r: Reader, node: Node, frame: Frame) -> None:
    block = Block(node.start_byte, node.end_byte, frame, r.variables.block)
    with r.variables.within(block, frame):
        scope = r.scope(frame.scope)
        own = field_of(node, "name")
        if own is not None and node.type in {"function_expression", "generator_function"}:
            r.variables.declare(text_of(own), steady=r.symbol(frame.scope))
        declare_type_parameters(r, node)
        scope.declared = declared_type(r, field_of(node, "return_type"))
        _parameters(r, node, frame)
        _promise(r, node, frame)
        hoist_variables(r, frame.scope)
        body = field_of(node, "body")
        if body is None:
            scope.traits |= Trait.ABSTRACT
        elif body.type == "statement_block":
            r.statement_list(body)
        else:
            scope.returns.append(r.value(body, ""))


def hoist_variables(r: Reader, scope: int) -> None:
    for node in r.outline.variables.get(scope, ()):
        pattern = field_of(node, "left") if node.type == "for_in_statement" else field_of(node, "name")
        for name in bound_names(pattern) if pattern is not None else ():
            r.variables.declare(name, r.variables.block)


def _parameters(r: Reader, node: Node, frame: Frame) -> None:
    single = field_of(node, "parameter")
    listed = field_of(node, "parameters")
    nodes = [single] if single is not None else listed.named_children if listed is not None else []
    for each in nodes:
        if each.type not in {"comment", "decorator"}:
            _parameter(r, each, frame)


def all_arguments(r: Reader) -> Expr:
    """`arguments`: what all parameters hold, and what is passed beyond them."""
    frame = r.frame
    while r.scope(frame.scope).traits & Trait.THIS_FROM_OUTSIDE and frame.outer is not None:
        frame = frame.outer
    if not frame.arguments and frame.scope and frame.is_function:
        parameters = r.scope(frame.scope).parameters
        if not any(one.kind == ParameterKind.REST for one in parameters):
            parameters.append(Parameter("", r.build.slot(), ParameterKind.REST))
        held = [(one.kind, r.slot_value(one.slot)) for one in parameters]
        spread = [r.build.expr(Op.SPREAD, value) if kind == ParameterKind.REST else value for kind, value in held]
        frame.arguments = r.build.literal(Op.SEQUENCE, spread)
    return frame.arguments


def _promise(r: Reader, node: Node, frame: Frame) -> None:
    """Of what `new Promise` is given: a call of its first parameter tells what the promise holds."""
    held = r.promise_slots.get(node.id)
    parameters = r.scope(frame.scope).parameters
    if held is not None and parameters:
        variable = r.variables.find(parameters[0].name)
        if variable is not None:
            variable.resolves = held


def _parameter(r: Reader, node: Node, frame: Frame) -> None:
    pattern, default = node, None
    if node.type in {"required_parameter", "optional_parameter"}:
        pattern, default = field_of(node, "pattern") or node, field_of(node, "value")
    elif node.type == "assignment_pattern":
        pattern, default = field_of(node, "left") or node, field_of(node, "right")
    declared = declared_type(r, field_of(node, "type"))
    if pattern.type == "this":
        if r.scope(frame.scope).this >= 0:
            r.build.bind(r.scope(frame.scope).this, declared)
        return
    kind = ParameterKind.PLAIN
    if pattern.type == "rest_pattern":
        kind, pattern = ParameterKind.REST, pattern.named_children[0] if pattern.named_children else pattern
    name = text_of(pattern) if pattern.type == "identifier" else ""
    if name:
        variable = r.variables.declare(name)
        slot = variable.slot
        frame.now[variable] = r.slot_value(slot)
        if not r.variables.is_written(name, r.variables.block):
            variable.steady = r.slot_value(slot)
    else:
        slot = r.build.slot()
    default_value = r.value(default, f"{frame.path}.{name}" if name else "")
    r.scope(frame.scope).parameters.append(Parameter(name, slot, kind, declared, default_value))
    if not name:
        destructure(r, pattern, r.build.union((r.slot_value(slot), declared)), declares=True)
    _property(r, node, frame, name, declared, slot)


def _property(r: Reader, node: Node, frame: Frame, name: str, declared: Expr, slot: int) -> None:
    """`constructor(private a: A)` makes an attribute; decorators of parameters are calls."""
    for child in node.children:
        if child.type == "decorator":
            decorate(r, child)
        elif child.type in {"accessibility_modifier", "readonly", "override_modifier"} and frame.class_scope >= 0:
            values = r.scope(frame.class_scope).attributes.setdefault(name, [])
            values.extend(one for one in (r.slot_value(slot), declared) if one and one not in values)


def return_statement(r: Reader, node: Node) -> None:
    value = 0
    for child in node.named_children:
        if child.type != "comment":
            value = r.value(child)
    if value:
        r.scope(r.frame.scope).returns.append(value)


def yield_expression(r: Reader, node: Node, _name: str) -> Expr:
    value = 0
    for child in node.named_children:
        if child.type != "comment":
            value = r.value(child)
    if any(child.type == "*" for child in node.children):
        value = iterated(r, node, value)
    if value:
        r.scope(r.frame.scope).yields.append(value)
    return 0


def iterated(r: Reader, node: Node, of: Expr) -> Expr:
    """What a loop over a value gives: its elements, or what its `[Symbol.iterator]` yields."""
    if r.op(of) in {Op.EXTERNAL, Op.KEY, Op.SEQUENCE}:
        return r.build.expr(Op.ELEMENT, of)
    made = r.call(node, r.attribute(of, "@@iterator"), [], SiteFlag.IMPLICIT)
    step = r.call(node, r.attribute(made, "next"), [], SiteFlag.IMPLICIT)
    return r.build.union((r.build.expr(Op.ELEMENT, of), r.build.expr(Op.ELEMENT, made), r.attribute(step, "value")))


def await_expression(r: Reader, node: Node, name: str) -> Expr:
    """A promise stands for what it holds: nothing else is ever done with it."""
    value = 0
    for child in node.named_children:
        if child.type != "comment":
            value = r.value(child, name)
    return value
