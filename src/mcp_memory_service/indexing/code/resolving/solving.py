"""Connected files in, what is found in each of them out."""

from collections.abc import Mapping, Sequence

from ..code_file import CodeFile
from ..facts import Op
from ..languages import FrontEnd, Language
from .edges import Edges, FileRelations
from .index import Index
from .modules import Modules
from .names import Names
from .solver import Solver


def solve(
    files: Sequence[CodeFile], modules: Modules, front_ends: Mapping[Language, FrontEnd]
) -> dict[str, FileRelations]:
    """All files of a group of `Modules.groups`."""
    index = Index(files, modules, front_ends)
    names = Names(index)
    solver = Solver(index)
    for file, code in enumerate(index.files):
        for number, site in enumerate(code.facts.sites):
            if names.may_call(file, site):
                solver.invocations.site(file, number)
        _ask_reads(solver, names, file)
    solver.containers.store_items()
    solver.graph.run()
    solver.invocations.let_built_in_methods_call()
    solver.graph.run()
    # What stays unknown when all else is known.
    solver.containers.open_unknown_keys()
    solver.invocations.stand_in_for_unknown()
    solver.arrivals.defaults_of_unknown()
    solver.graph.run()
    return {code.path: Edges(solver, names, file).all() for file, code in enumerate(index.files)}


def _ask_reads(solver: Solver, names: Names, file: int) -> None:
    """Those that can call or mean something of the project."""
    exprs = solver.index.files[file].facts.exprs
    items = "__getitem__" in names.all
    iterations = items or not names.all.isdisjoint({"__iter__", "__aiter__"})
    for _, expr, *_ in solver.index.files[file].facts.reads:
        row = exprs[expr]
        op = row[0]
        if (
            (op == Op.ATTR and row[2] in names.all)
            or (op == Op.OPERATION and row[2] in names.all)
            or (op == Op.ITEM and items)
            or (op == Op.ELEMENT and iterations)
        ):
            solver.expr(file, expr)
    for _, _, of, name, _ in solver.index.files[file].facts.stores:
        if name in names.setters:
            solver.expr(file, of)
