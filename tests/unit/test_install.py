"""`make run` says how far the installation is."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import HANG_SECONDS

SCRIPT = Path(__file__).parents[2] / "requirements" / "install.py"


@pytest.fixture(scope="module")
def script() -> Any:
    spec = util.spec_from_file_location("install", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_package_is_counted_once_and_the_rest_of_pip_is_left_out(script: Any):
    said = [
        "Collecting numpy==2.0 (from -r run.lock (line 3))",
        "  Downloading numpy-2.0.whl (17.0 MB)",
        "Ignoring colorama: markers 'os_name == \"nt\"' don't match your environment",
        "Requirement already satisfied: click==8.2 in .venv/lib",
        "Installing collected packages: numpy",
        "Successfully installed numpy-2.0",
    ]
    assert list(script.progress(said, 3)) == [
        "  fetching 1/3: numpy",
        "  fetching 2/3: colorama",
        "  fetching 3/3: click",
        "  unpacking",
    ]


def test_every_pin_of_a_lock_is_counted(script: Any):
    for lock in sorted(SCRIPT.parent.glob("*.lock")):
        pins = [line for line in lock.read_text().splitlines() if "==" in line and not line.startswith((" ", "#"))]
        assert len(script.PIN.findall(lock.read_text())) == len(pins) > 20


def test_a_failing_installation_keeps_the_words_and_the_exit_code_of_pip(tmp_path: Path):
    lock = tmp_path / "bad.lock"
    lock.write_text("no-such-package==1 --hash=sha256:" + "0" * 64)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(lock)],
        env={**os.environ, "PIP_NO_INDEX": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 1
    assert done.stdout.startswith(f"Installing the 1 packages of {lock}")
    assert "no-such-package" in done.stderr
