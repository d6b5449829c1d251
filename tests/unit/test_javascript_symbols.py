"""What a file of JavaScript or TypeScript defines: names, kinds, signatures, comments, spans."""

import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_service.indexing.code import CodeFile, Symbol, read_code


def _symbol(text: str, name: str, path: str = "src/lib/a.ts") -> Symbol:
    return next(symbol for symbol in read_code(path, text).symbols if symbol.qualified_name == name)


def _names(text: str, path: str = "a.js") -> list[str]:
    return [symbol.qualified_name for symbol in read_code(path, text).symbols]


@pytest.mark.parametrize(
    ("path", "module"),
    [
        ("src/lib/a.js", "src.lib.a"),
        ("src/index.ts", "src.index"),
        ("a.mjs", "a"),
        ("a.cjs", "a"),
        ("types/a.d.ts", "types.a"),
        ("app/View.tsx", "app.View"),
        ("a.test.js", "a_test"),
    ],
)
def test_a_module_is_named_by_its_path(path: str, module: str):
    assert read_code(path, "").module == module


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("function f() {}", "a.f"),
        ("const f = () => 1;", "a.f"),
        ("const f = function () {};", "a.f"),
        ("const f = function g() {};", "a.g"),
        ("export default function () {}", "a.default"),
        ("export default () => 1;", "a.default"),
        ("module.exports = function () {};", "a.exports"),
        ("module.exports = { go() {} };", "a.go"),
        ("exports.go = () => 1;", "a.go"),
        ("const o = { m: function () {} };", "a.o.m"),
        ("const o = { inner: { m() {} } };", "a.o.inner.m"),
        ("class A { m() {} }", "a.A.m"),
        ("class A { #m() {} }", "a.A.#m"),
        ("class A { m = () => 1; }", "a.A.m"),
        ("class A { constructor() { this.m = () => 1; } }", "a.A.m"),
        ("class A { [Symbol.iterator]() {} }", "a.A.@@iterator"),
        ("function A() {}\nA.prototype.m = function () {};", "a.A.m"),
        ("function outer() { function inner() {} }", "a.outer.inner"),
        ("run(() => 1);", "a.<anonymous1>"),
        ("run(() => 1);\nrun(() => 2);", "a.<anonymous2>"),
        ("function f() { return () => 1; }", "a.f.<anonymous1>"),
        ("(function () { function inner() {} })();", "a.<anonymous1>.inner"),
    ],
)
def test_a_function_is_named_by_what_it_is_bound_to(text: str, name: str):
    assert name in _names(text)


@pytest.mark.parametrize(
    ("text", "name", "kind"),
    [
        ("interface A { m(): void }", "a.A", "interface"),
        ("interface A { m(): void }", "a.A.m", "method"),
        ("type A = { m(): void };", "a.A", "interface"),
        ("abstract class A { abstract m(): void }", "a.A.m", "method"),
        ("enum A { One }", "a.A", "class"),
        ("namespace A { export function f() {} }", "a.A.f", "function"),
        ("declare function f(): void;", "a.f", "function"),
        ("function f(a: string): void;\nfunction f(a: any) {}", "a.f", "function"),
        ("run(() => 1);", "a.<anonymous1>", "lambda"),
    ],
)
def test_what_only_typescript_has_is_a_symbol(text: str, name: str, kind: str):
    assert [symbol.kind for symbol in read_code("a.ts", text).symbols if symbol.qualified_name == name] == [kind]


def test_a_symbol_is_shown_with_its_signature_comment_and_text():
    comment = "/** Adds two numbers.\n * Both are integers. */"
    text = f"\n{comment}\nexport const add = (a: number,\n  b: number): number => {{\n  return a + b;\n}};\n"

    symbol = _symbol(text, "src.lib.a.add")

    assert symbol.signature == "export const add = (a: number, b: number): number"
    assert symbol.docstring == "Adds two numbers.\nBoth are integers."
    assert (symbol.first_line, symbol.last_line) == (4, 7)
    assert symbol.span_hash == hashlib.sha256("\n".join(text.split("\n")[3:7]).encode()).hexdigest()


def test_lines_of_comments_above_a_function_are_its_docstring():
    assert _symbol("// One.\n// Two.\nfunction f() {}", "a.f", "a.js").docstring == "One.\nTwo."


def test_a_comment_further_up_is_not_that_of_the_function():
    assert _symbol("// One.\n\nfunction f() {}", "a.f", "a.js").docstring == ""


def test_decorators_belong_to_what_they_decorate():
    symbol = _symbol("class A {\n  @log()\n  m() {}\n}", "src.lib.a.A.m")

    assert (symbol.first_line, symbol.last_line) == (2, 3)


def test_the_text_of_a_class_has_its_methods_as_signatures():
    text = "class A {\n  count = 1;\n  m(a) {\n    return a;\n  }\n}"

    symbol = _symbol(text, "a.A", "a.js")

    assert symbol.text == "class A {\n  count = 1;\n  m(a)\n}"
    assert symbol.span_hash == hashlib.sha256(text.encode()).hexdigest()


def test_what_is_read_comes_back_from_its_record():
    file = read_code(
        "a.ts", "export class A { constructor(private b: B) {} m() { this.b.n(); } }\ninterface B { n(): void }"
    )

    record = json.dumps(file.to_json())

    assert json.dumps(CodeFile.from_json(json.loads(record)).to_json()) == record


@pytest.mark.parametrize(
    "text",
    [
        "(" * 5_000,
        "[" * 5_000 + "]" * 5_000,
        "a" + ".b()" * 3_000,
        "x = " + "1 + " * 5_000 + "1",
        "{" * 3_000 + "}" * 3_000,
        "if (a) {} else " * 2_000 + "{}",
        "a => " * 2_000 + "1",
        "function f() {" * 500 + "g();" + "}" * 500,
        "class A extends (" * 300,
        "<a>" * 500,
        "`${" * 500,
    ],
)
@pytest.mark.parametrize("path", ["a.js", "a.ts", "a.tsx"])
def test_however_deep_a_text_is_it_is_read(path: str, text: str):
    assert read_code(path, text).symbols[0].qualified_name == "a"


def test_a_call_at_any_depth_is_found():
    depth = 400
    text = "function f() {}\n" + "function g() {" * depth + "f();" + "}" * depth

    assert any(site.line == 2 for site in read_code("a.js", text).facts.sites)


def test_broken_syntax_is_told_and_the_rest_is_read():
    file = read_code("a.js", "function f() {}\nconst = ;\nfunction g() {}")

    assert file.problems == ("syntax that is not understood near line 2",)
    assert {"a.f", "a.g"} <= {symbol.qualified_name for symbol in file.symbols}


_PIECES = st.sampled_from(
    "function f( ) { } => class A extends B ( ) [ ] , ; : . ?. = const let var a b c this super new return yield await "
    "export default import from * as 'x' `${ } ` /re/ <A> </A> @d interface I type T = | & < > abstract enum namespace "
    "get set static async for of in if else try catch finally switch case break ... ! ? ?? || && #p".split()
)


@given(st.lists(_PIECES, max_size=40), st.sampled_from(["a.js", "a.ts", "a.tsx"]))
@settings(max_examples=300, deadline=None)
def test_any_text_is_read_and_every_symbol_has_a_name(pieces: list[str], path: str):
    file = read_code(path, " ".join(pieces))

    assert all(symbol.qualified_name for symbol in file.symbols)
    assert len(file.symbols) == len(file.facts.scopes)
    record = json.dumps(file.to_json())
    assert json.dumps(CodeFile.from_json(json.loads(record)).to_json()) == record


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("[NAME]", "a.o.NAME"),
        ("[Kind.A]", "a.o.A"),
        ("['b']", "a.o.b"),
        ("[a + 1]", "a.<anonymous1>"),
        ("'a.b'", "a.o.a_b"),
    ],
)
def test_a_computed_key_names_its_function_if_it_is_a_name(key: str, name: str):
    assert _names(f"const o = {{ {key}: function () {{}} }};")[1:] == [name]
    assert _names(f"const o = {{ {key}() {{}} }};")[1:] == [name]
