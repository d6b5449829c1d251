"""Which file an import of JavaScript or TypeScript means."""

import pytest

from mcp_memory_service.indexing.code.javascript.module_paths import module_paths
from mcp_memory_service.indexing.code.javascript.project_files import Places


def _found(name: str, importer: str, files: set[str], settings: dict[str, str] | None = None) -> str | None:
    return next((path for path in module_paths(name, importer, Places.of(settings or {})) if path in files), None)


@pytest.mark.parametrize(
    ("name", "files", "found"),
    [
        ("./a", {"src/a.js"}, "src/a.js"),
        ("./a", {"src/a.ts", "src/a.js"}, "src/a.ts"),
        ("./a", {"src/a.js", "src/a.d.ts"}, "src/a.js"),
        ("./a", {"src/a.d.ts"}, "src/a.d.ts"),
        ("./a", {"src/a/index.tsx"}, "src/a/index.tsx"),
        ("./a.js", {"src/a.js", "src/a.ts"}, "src/a.js"),
        ("./a.js", {"src/a.ts"}, "src/a.ts"),
        ("./a.mjs", {"src/a.mts"}, "src/a.mts"),
        ("./a.service", {"src/a.service.ts"}, "src/a.service.ts"),
        ("../lib/a", {"lib/a.js"}, "lib/a.js"),
        (".", {"src/index.js"}, "src/index.js"),
        ("..", {"index.js"}, "index.js"),
        ("../../outside", {"outside.js"}, None),
        ("a", {"src/a.js"}, None),
    ],
)
def test_a_relative_import_tries_suffixes_and_index_files(name: str, files: set[str], found: str | None):
    assert _found(name, "src/main.ts", files) == found


@pytest.mark.parametrize(
    ("package", "name", "found"),
    [
        ('{"name": "app", "main": "lib/start.js"}', "app", "lib/start.js"),
        ('{"name": "app", "main": "lib/start"}', "app", "lib/start.js"),
        ('{"name": "app", "exports": "./lib/start.js"}', "app", "lib/start.js"),
        (
            '{"name": "app", "exports": {".": {"import": "./none.mjs", "require": "./lib/start.js"}}}',
            "app",
            "lib/start.js",
        ),
        ('{"name": "app", "exports": {"./tool": "./lib/tool.js"}}', "app/tool", "lib/tool.js"),
        ('{"name": "app", "exports": {"./*": "./lib/*.js"}}', "app/tool", "lib/tool.js"),
        ('{"name": "app"}', "app/lib/tool", "lib/tool.js"),
        ('{"name": "app", "imports": {"#tool": "./lib/tool.js"}}', "#tool", "lib/tool.js"),
        ('{"name": "app", "main": "dist/start.js"}', "app", "src/start.ts"),
        ('{"name": "app", "types": "dist/start.d.ts"}', "app", "src/start.ts"),
        ("not JSON", "app", None),
        ("[]", "app", None),
        ('{"name": 1, "main": [], "exports": 2}', "app", None),
    ],
)
def test_a_package_is_what_its_settings_name(package: str, name: str, found: str | None):
    files = {"lib/start.js", "lib/tool.js", "src/start.ts"}

    assert _found(name, "test/main.js", files, {"package.json": package}) == found


@pytest.mark.parametrize(
    ("options", "name", "found"),
    [
        ('{"baseUrl": "src"}', "tool", "src/tool.ts"),
        ('{"baseUrl": ".", "paths": {"@/*": ["src/*"]}}', "@/tool", "src/tool.ts"),
        ('{"paths": {"@/*": ["./src/*"]}}', "@/tool", "src/tool.ts"),
        ('{"paths": {"tool": ["./src/tool.ts"]}}', "tool", "src/tool.ts"),
        ('{"paths": {"@/*": ["none/*", "src/*"]}}', "@/tool", "src/tool.ts"),
        ('{"paths": {"*": ["none/*"], "@/*": ["src/*"]}}', "@/tool", "src/tool.ts"),
        ('{"paths": {"@/*": ["../../outside/*"]}}', "@/tool", None),
    ],
)
def test_compiler_settings_give_other_names_to_folders(options: str, name: str, found: str | None):
    settings = {"tsconfig.json": f'{{"compilerOptions": {options}}}'}

    assert _found(name, "src/app/main.ts", {"src/tool.ts", "outside/tool.ts"}, settings) == found


def test_comments_and_last_commas_are_read_over():
    text = '{ // here\n "compilerOptions": { /* and */ "paths": { "@/*": ["src/*"], }, }, }'

    assert _found("@/a", "main.ts", {"src/a.ts"}, {"tsconfig.json": text}) == "src/a.ts"


def test_a_comment_within_a_text_is_a_text():
    assert _found(
        "//a", "main.ts", {"src/a.ts"}, {"tsconfig.json": '{"compilerOptions": {"paths": {"//a": ["src/a"]}}}'}
    )


def test_settings_that_extend_each_other_end():
    settings = {"tsconfig.json": '{"extends": "./b.json"}', "b.json": '{"extends": "./tsconfig.json"}'}

    assert _found("a", "main.ts", set(), settings) is None
