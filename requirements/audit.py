"""Asks the vulnerability service about every locked dependency; `make audit` runs it.

Exit code 1 if a vulnerability is known, 2 if not all could be asked about: no answer is never taken for a good one.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

LOCKS = Path(__file__).parent
VULNERABLE, NOT_AUDITED = 1, 2


@dataclass(frozen=True, slots=True)
class Audit:
    asked: int
    vulnerable: tuple[str, ...]
    not_asked: tuple[str, ...]

    @property
    def exit_code(self) -> int:
        return VULNERABLE if self.vulnerable else NOT_AUDITED if self.not_asked else 0


def audit(lock: Path) -> Audit:
    # Hashes pin every file, so pip need not resolve anything. Without --strict a package that the service does not
    # know is named in the report, with it the report would end there.
    command = [sys.executable, "-m", "pip_audit", "--disable-pip", "--require-hashes", "--progress-spinner", "off"]
    done = subprocess.run(  # noqa: S603
        [*command, "--format", "json", "--requirement", str(lock)], capture_output=True, text=True, check=False
    )
    try:
        dependencies: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except ValueError:  # a service that cannot be reached ends pip-audit with a traceback and no report
        return Audit(0, (), ((done.stderr.strip().splitlines() or ["pip-audit said nothing"])[-1],))
    return judged(dependencies)


def judged(dependencies: Sequence[dict[str, Any]]) -> Audit:
    asked = [each for each in dependencies if "skip_reason" not in each]
    return Audit(
        asked=len(asked),
        vulnerable=tuple(
            f"{each['name']} {each['version']}: {found['id']}, mended in {', '.join(found['fix_versions']) or 'none'}"
            for each in asked
            for found in each["vulns"]
        ),
        not_asked=tuple(each["skip_reason"] for each in dependencies if "skip_reason" in each),
    )


def main() -> None:
    code = 0
    for lock in sorted(LOCKS.glob("*.lock")):
        found = audit(lock)
        code = code if code == VULNERABLE else found.exit_code or code
        print(f"{lock.name}: {found.asked} asked about, {len(found.vulnerable)} vulnerabilities known")
        for line in found.vulnerable:
            print(f"  {line}")
        if found.not_asked:
            print(f"  NOT AUDITED, the vulnerability service did not answer for {len(found.not_asked)}. The first:")
            print(f"  {found.not_asked[0]}")
    raise SystemExit(code)


if __name__ == "__main__":
    main()
