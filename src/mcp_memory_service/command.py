"""The entry point of `mcp-memory`, which refuses to run among files of the other product.

That product has the import package `mcp_memory_service` too, so that the one installed later replaces `cli` and others.
This file has a name of its own and imports nothing before it has looked.
"""

import sys
from importlib.metadata import distributions

from .product_names import DISTRIBUTION, OTHER_DISTRIBUTION

OUR_COMMAND = "mcp-memory"
BAD_SETTINGS = 6
"""As access/error_table.py has it, which may be replaced like any other file."""


def main() -> None:
    if other_product_is_installed():
        sys.stderr.write(
            f"{OUR_COMMAND}: The package {OTHER_DISTRIBUTION}, another product, is installed in this environment too,"
            " and each replaces files of the other. Give each an environment of its own; or here: pip uninstall"
            f" {OTHER_DISTRIBUTION}, then install {DISTRIBUTION} again. [other_product_installed]\n"
        )
        sys.exit(BAD_SETTINGS)
    from .cli import main as run_command  # noqa: PLC0415

    run_command()


def other_product_is_installed() -> bool:
    """Until we had a name of our own we were installed under its name, with our one command."""
    return any(
        script.name != OUR_COMMAND
        for found in distributions(name=OTHER_DISTRIBUTION)
        for script in found.entry_points.select(group="console_scripts")
    )
