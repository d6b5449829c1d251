"""The names that the symbols of connected files have."""

import re

from ..facts import Op, Site, Trait
from .containers import CHANGING
from .index import Index
from .values import Definition

_TEST_FILE = re.compile(
    r"(?:^|/)(?:tests?|__tests__)/|(?:^|/)(?:test_[^/]*|conftest\.py)|(?:_test|\.test|\.spec)\.\w+$"
)
_CALLABLE = ("class", "function", "method")


def is_test_path(path: str) -> bool:
    return _TEST_FILE.search(path) is not None


class Names:
    def __init__(self, index: Index) -> None:
        self._index = index
        self._by_name: dict[str, list[Definition]] = {}
        self.properties: set[str] = set()
        self.setters: set[str] = set()
        self._test_files = [is_test_path(file.path) for file in index.files]
        for file, code in enumerate(index.files):
            for number, scope in enumerate(code.facts.scopes):
                if scope.kind in _CALLABLE and not scope.traits & Trait.OVERLOAD:
                    name = scope.qualified_name.rpartition(".")[2]
                    self._by_name.setdefault(name, []).append((file, number))
                    if scope.traits & Trait.PROPERTY:
                        self.properties.add(name)
                    if scope.traits & Trait.SETTER:
                        self.setters.add(name)
        self.all = frozenset(self._by_name)
        self._attributes = self._all_attributes()

    def _all_attributes(self) -> set[str]:
        """The names under which anything of these files may be an attribute."""
        names = {*self.all, *CHANGING, "__class__"}
        for code in self._index.files:
            names.update(name for _, _, _, name, _ in code.facts.stores)
            names.update(code.module.split("."))
            for scope in code.facts.scopes:
                names.update(scope.members, scope.attributes)
        return names

    def may_call(self, file: int, site: Site) -> bool:
        """Whether a site can lead to anything of these files. In JavaScript, entries of objects are attributes as
        well."""
        row = self._index.row((file, site.callee))
        if row[0] == Op.ATTR and self._index.front_end(file).passes_receiver:
            return row[2] in self._attributes
        return row[0] != Op.EXTERNAL

    def last(self, definition: Definition) -> str:
        return self._index.scope(definition).qualified_name.rpartition(".")[2]

    def is_test_file(self, file: int) -> bool:
        return self._test_files[file]
