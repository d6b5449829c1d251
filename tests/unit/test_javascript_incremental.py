"""After any edits, the edges of a project of JavaScript and TypeScript are those of a fresh one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_memory_service.indexing.code import Project, read_code

PATHS = ("a.js", "b.ts", "lib/index.js", "lib/c.ts", "types.d.ts")
TEXTS = (
    "",
    "export function go() {}",
    "export class A { m() { this.n(); } n() {} }",
    "import { A } from './b'; export class B extends A { n() {} }",
    "const lib = require('./lib'); lib.go(); new lib.A().m();",
    "module.exports = { go() { this.stop(); }, stop() {} };",
    "export * from './c'; export { go } from '../a';",
    "import { go, A } from './lib/index'; [1].map(go); new A().m();",
    "interface Shape { area(): void } export class C implements Shape { area() {} }\nfunction f(s: Shape) { s.area() }",
    "export interface Job { run(): void }\nexport function start(job: Job) { job.run(); }",
    "import { Job, start } from '../types'; class D implements Job { run() {} }\nstart(new D());",
    "function unusualName() {}",
    "x.unusualName(); unusualName();",
)
EDITS = st.lists(st.tuples(st.sampled_from(PATHS), st.none() | st.sampled_from(TEXTS)), max_size=12)


@given(st.lists(EDITS, min_size=1, max_size=4))
@settings(max_examples=150, deadline=None)
def test_after_any_edits_the_edges_are_those_of_a_fresh_project(rounds: list[list[tuple[str, str | None]]]):
    project, now = Project(), dict[str, str]()
    for edits in rounds:
        for path, text in edits:
            if text is None:
                project.remove(path)
                now.pop(path, None)
            else:
                project.put(read_code(path, text))
                now[path] = text
        resolved = project.resolve()

        fresh = Project()
        for path, text in now.items():
            fresh.put(read_code(path, text))
        assert resolved.files == fresh.resolve().files
