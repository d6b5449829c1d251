"""What changed together with a file: how git is read, and that nothing a repository configures is run."""

import subprocess
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.services.code.history import MAX_FILES, MIN_SHARE, MIN_TOGETHER, file_history, history_from

FILES = st.lists(st.sampled_from([f"src/{name}.py" for name in "abcde"]), min_size=1, max_size=5, unique=True)


def written(commits: list[list[str]]) -> str:
    return "".join("\x01\n" + "".join(f"{file}\0" for file in files) for files in commits)


@given(st.lists(FILES, max_size=12))
def test_what_often_changes_with_a_file_is_counted(commits: list[list[str]]):
    found = history_from(written(commits), "src/a.py")
    own = [files for files in commits if "src/a.py" in files]
    assert (found is None) == (not own)
    for each in found.together if found else ():
        assert each.commits == sum(each.path in files for files in own) >= MIN_TOGETHER
        assert each.share == each.commits / len(own) >= MIN_SHARE
        assert each.path != "src/a.py"


def test_a_commit_of_very_many_files_says_nothing():
    large = ["a.py", *(f"{number}.py" for number in range(MAX_FILES))]
    found = history_from(written([large, large, ["a.py", "b.py"], ["a.py", "b.py"]]), "a.py")
    assert found is not None
    assert (found.commits, [each.path for each in found.together]) == (4, ["b.py"])


async def test_a_folder_without_history_has_none(tmp_path: Path):
    assert await file_history(tmp_path, "a.py") is None
    assert await file_history(tmp_path / "missing", "a.py") is None


SIGNER = """#!/bin/sh
touch {ran}
cat > /dev/null
printf "\\n[GNUPG:] SIG_CREATED D\\n" >&2
printf -- "-----BEGIN PGP SIGNATURE-----\\n\\nx\\n-----END PGP SIGNATURE-----\\n"
"""


async def test_nothing_that_a_repository_configures_is_run(tmp_path: Path):
    ran, signer, root = tmp_path / "ran", tmp_path / "signer", tmp_path / "project"
    signer.write_text(SIGNER.format(ran=ran))
    signer.chmod(0o755)
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "gpg.program", str(signer))
    for number in range(2):
        for name in ("a b.py", "ünder.py"):
            (root / name).write_text(f"{number}")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-S", "-m", "x")
    for key, value in {"core.fsmonitor": str(signer), "core.pager": str(signer), "log.showSignature": "true"}.items():
        git(root, "config", key, value)
    ran.unlink()
    git(root, "log")
    ran.unlink()  # whoever reads the log plainly runs what is configured
    found = await file_history(root, "a b.py")
    assert found is not None
    assert [(each.path, each.commits, each.share) for each in found.together] == [("ünder.py", 2, 1.0)]
    assert not ran.exists()


def git(root: Path, *command: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(root), *who, *command], check=True, capture_output=True)
