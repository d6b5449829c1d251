"""The values that variables can have, as numbers."""

from typing import Any, Final, TypeAlias

Value: TypeAlias = int
Definition: TypeAlias = tuple[int, int]
"""A file and a scope in it, by their numbers."""


class Kind:
    EXTERNAL: Final = 0
    """Nothing of the project."""
    FUNCTION: Final = 1
    """(file, scope)"""
    CLASS: Final = 2
    """(file, scope)"""
    SUBCLASS: Final = 3
    """(file, scope): this class or one below it."""
    INSTANCE: Final = 4
    """(file, scope): of this very class."""
    DECLARED: Final = 5
    """(file, scope): an instance of this class or of one below it."""
    BOUND: Final = 6
    """(function, receiver: Value): a method with its object."""
    MODULE: Final = 7
    """(file,)"""
    NAMESPACE: Final = 8
    """(dotted name, file that imports it): a folder without a file of its own."""
    OBJECT: Final = 9
    """(file, Expr): a literal, or what an annotation describes: SEQUENCE, MAPPING, OBJECT, COLLECTION, TABLE."""
    REST: Final = 10
    """(file, scope, parameter): what `*args` or `**kwargs` of a function holds."""
    SLICE: Final = 11
    """(object: Value, start)"""
    KEY: Final = 12
    """(constant,)"""
    SUPER: Final = 13
    """(file, scope): the object of a method of this class, seen from the classes above."""
    GENERATOR: Final = 14
    """(file, scope): what calling a generator function gives."""
    CALLABLE: Final = 15
    """(file, Expr): something that gives this expression when called."""
    METHOD: Final = 16
    """(owner: Value, name): a built-in method of a container (`items`) or of a function (`call`)."""
    VIEW: Final = 17
    """(owner: Value, name): what `values`, `keys` and `items` of a container give."""
    PAIR: Final = 18
    """(owner: Value,): a key and a value of a container."""
    ACCESS: Final = 20
    """(function, receiver: Value): a property that is read."""
    TYPE: Final = 19
    """(file, Expr): a type that is no class; what it says of its instances."""


class Values:
    """Each value has one number; 0 is EXTERNAL."""

    def __init__(self) -> None:
        self.rows: list[tuple[Any, ...]] = [(Kind.EXTERNAL,)]
        self._numbers: dict[tuple[Any, ...], Value] = {(Kind.EXTERNAL,): 0}

    def of(self, *row: Any) -> Value:
        number = self._numbers.get(row)
        if number is None:
            number = self._numbers[row] = len(self.rows)
            self.rows.append(row)
        return number
