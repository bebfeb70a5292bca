"""Audit what luce needs at run time: licences, origins, and known vulnerabilities.

Licences and origins are read from what is installed, so that part always runs.  Vulnerabilities
are known to a service on the network: one that is found fails, and what could not be asked is said
aloud and fails nothing.
"""

import json
import re
import subprocess
import sys
import tempfile
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

EXTRAS = ("plots", "files")
FREE = re.compile(r"BSD|MIT|Apache|PSF|Python Software Foundation|ISC|Zlib|HPND|MPL|CC0", re.I)
COPYLEFT = re.compile(r"(?<!L)GPL(?!-compatible)|AGPL|GNU (Affero )?General", re.I)


def needed(name: str, extras: tuple[str, ...], seen: dict[str, metadata.Distribution]) -> None:
    """Collect a distribution and all that it needs here."""
    key = re.sub(r"[-_.]+", "-", name).lower()
    found = metadata.distribution(name)
    seen[key] = found
    for line in found.requires or []:
        requirement = Requirement(line)
        here = [{"extra": extra} for extra in extras or ("",)]
        wanted = requirement.marker is None or any(map(requirement.marker.evaluate, here))
        other = re.sub(r"[-_.]+", "-", requirement.name).lower()
        if wanted and (other not in seen):
            needed(requirement.name, tuple(requirement.extras), seen)


def licence_of(found: metadata.Distribution) -> str:
    """What a distribution says of its licence."""
    data = found.metadata
    kinds = [c for c in data.get_all("Classifier") or [] if c.startswith("License ::")]
    return " / ".join(filter(None, [data.get("License-Expression"), *kinds])) or str(
        data.get("License")
    )


def faults_of(name: str, found: metadata.Distribution) -> list[str]:
    """What is wrong with a distribution that is installed."""
    licence = licence_of(found)
    wrong = []
    if not FREE.search(licence) and COPYLEFT.search(licence):
        wrong.append(f"{name}: the licence {licence[:60]!r} is not one of those allowed")
    elif not FREE.search(licence):
        wrong.append(f"{name}: the licence {licence[:60]!r} is not known to be free")
    origin = found.read_text("direct_url.json")
    if origin and name != "luce":
        wrong.append(f"{name}: was not installed from an index but from {json.loads(origin)}")
    return wrong


def judged(answer: str, wanted: int) -> tuple[int, list[str]]:
    """Exit code and sentences for what pip-audit printed as JSON."""
    try:
        listed = json.loads(answer)["dependencies"]
    except (ValueError, KeyError, TypeError):
        return 0, ["NOT AUDITED: the service of known vulnerabilities could not be asked."]
    said = [
        f"VULNERABLE: {one['name']} {one['version']}: {bug['id']}, "
        f"mended in {', '.join(bug['fix_versions']) or 'no version yet'}"
        for one in listed
        for bug in one.get("vulns", [])
    ]
    asked = [one for one in listed if "skip_reason" not in one]
    missed = wanted - len(asked)
    if missed:
        said.append(f"NOT AUDITED: {missed} of {wanted} packages are not known to the service.")
    said.append(f"{len(asked)} of {wanted} packages were asked about.")
    return int(any(line.startswith("VULNERABLE") for line in said)), said


def main() -> int:
    """Audit, say what was found, and fail only for what was."""
    seen: dict[str, metadata.Distribution] = {}
    needed("luce", EXTRAS, seen)
    faults = [fault for name, found in seen.items() for fault in faults_of(name, found)]
    for fault in faults:
        print(f"audit: {fault}")
    print(f"audit: licences and origins of {len(seen)} packages: {len(faults)} faults.")
    clean = subprocess.run([sys.executable, "-m", "pip", "check"]).returncode == 0
    others = {name: found for name, found in seen.items() if name != "luce"}
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text("".join(f"{name}=={d.version}\n" for name, d in others.items()))
        command = [sys.executable, "-m", "pip_audit", "--requirement", str(pinned), "--no-deps",
                   "--disable-pip", "--progress-spinner", "off", "--format", "json"]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True)
    code, said = judged(done.stdout, len(others))
    if code == 0 and not done.stdout.strip():
        said += done.stderr.strip().splitlines()[-1:]
    for line in said:
        print(f"audit: {line}")
    return int(bool(faults) or not clean or code)


if __name__ == "__main__":
    raise SystemExit(main())
