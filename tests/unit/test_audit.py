"""`make audit`: an unanswered question about a dependency is not a good answer."""

from importlib import util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "requirements" / "audit.py"
SOUND: dict[str, Any] = {"name": "a", "version": "1", "vulns": []}
VULNERABLE: dict[str, Any] = {"name": "b", "version": "2", "vulns": [{"id": "CVE-1", "fix_versions": ["3"]}]}
SKIPPED: dict[str, Any] = {"name": "c", "skip_reason": "not found: c"}


@pytest.fixture(scope="module")
def script() -> Any:
    spec = util.spec_from_file_location("audit", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("dependencies", "exit_code"),
    [([SOUND], 0), ([SOUND, VULNERABLE], 1), ([SOUND, SKIPPED], 2), ([SKIPPED, VULNERABLE], 1)],
)
def test_the_exit_code_tells_sound_from_vulnerable_from_not_asked(
    script: Any, dependencies: list[dict[str, Any]], exit_code: int
):
    assert script.judged(dependencies).exit_code == exit_code


def test_a_vulnerability_is_named_with_what_mends_it(script: Any):
    assert script.judged([VULNERABLE]).vulnerable == ("b 2: CVE-1, mended in 3",)
