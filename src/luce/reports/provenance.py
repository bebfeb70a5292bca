"""Where the run came from, and the lines that give the same draws again."""

from __future__ import annotations

import ast
import json
import shlex
from pathlib import PurePath

import numpy as np

from luce.counts.labels import plural
from luce.page.document import Cell, Code, Page
from luce.reports.findings import Findings
from luce.version import __version__

_UNKNOWN = "not recorded"


def write_provenance(page: Page, found: Findings, source: str | None) -> None:
    """Add settings and fingerprint of the run, and how to get the same draws and page."""
    attributes = found.run.attrs

    def told(name: str) -> str:
        return str(attributes.get(name, _UNKNOWN))

    seconds = attributes.get("sampling_time")
    facts: dict[str, Cell] = {
        "Drawn by": f"{told('inference_library')} {told('inference_library_version')}",
        "Drawn at": told("created_at"),
        "Took": f"{seconds:,.3g} seconds" if isinstance(seconds, int | float) else _UNKNOWN,
        "Seed": Code(_seed(found) or told("seed")),
        "Chains": f"{found.chains} of {plural(found.draws, 'draw')} each",
        "Warm-up": f"{told('warmup')} sweeps of each chain, discarded",
        "Method": Code(told("method")),
        "Simulated": "the cores only" if attributes.get("reduced") == 1 else "the raw categories",
        "Prior": told("prior"),
        "Data": told("data"),
        "Digest of the data": Code(told("data_digest")),
        "Page written by": f"luce {__version__}",
    }
    if found.independent:
        facts["Warm-up"] = "none: independent draws need none"
        facts["Simulated"] = "nothing" if told("method") == "exact" else facts["Simulated"]
    page.facts(facts)
    lines = python_lines(found, source)
    if lines is None:
        page.text("The seed of this run is not recorded, so its draws cannot be made again.")
        return
    page.text("These lines give the same draws, bit for bit:")
    page.preformatted("\n".join(lines))
    page.text("So does this, from a shell; and then this page again:")
    page.preformatted("\n".join(shell_lines(lines, source)))
    unsure = (
        ""
        if found.independent
        else " Starting points other than draws of the prior are not recorded either: if `initial` "
        "was given, give it again."
    )
    page.text(
        "The number of threads does not matter. Other versions of luce, NumPy or numba may give "
        f"other draws of the same posterior.{unsure}"
    )


def python_lines(found: Findings, source: str | None) -> list[str] | None:
    """Python that makes the draws again from the saved run; None where the seed is unknown."""
    seed = _seed(found)
    if seed is None:
        return None
    attributes = found.run.attrs
    options = {"chains": repr(found.chains), "seed": seed}
    if not found.independent:
        options["warmup"] = repr(int(attributes.get("warmup", 0)))
    reasons = [str(x) for x in np.atleast_1d(attributes.get("core_reasons", []))]
    if any(reason.startswith("asked for") for reason in reasons):
        options["method"] = repr(str(attributes["method"]))
    if attributes.get("reduced") == 0 and found.posterior.prior.is_fixed:
        options["reduce"] = "False"
    logs = "log_probabilities" in found.run["posterior"].data_vars
    options["log_probabilities"] = repr(logs)
    given = _given_proposal(found)
    if given is not None and "method" in options:
        options["proposal_concentration"] = repr(given)
    arguments = ", ".join([repr(found.draws), *(f"{k}={v}" for k, v in options.items())])
    # Escapes of JSON are those of Python, and the path stays on its line.
    quoted = json.dumps(source or "run.nc", ensure_ascii=False)
    imports = ["import numpy as np", ""] if seed.startswith("np.") else []
    return [
        "import luce",
        *imports,
        f"run = luce.load({quoted})"
        + ("" if source else '  # written by luce.save(run, "run.nc")'),
        f"again = luce.posterior_of(run).sample({arguments})",
        'print((again.posterior["probabilities"] == run.posterior["probabilities"]).all().item())',
    ]


def shell_lines(lines: list[str], source: str | None) -> list[str]:
    """The same from a shell, and the page."""
    run = source or "run.nc"
    page = f"{PurePath(run).stem}.html"
    command = f"luce report {shlex.quote(run)} --out {shlex.quote(page)}"
    return ["python - <<'END'", *lines, "END", command]


def _seed(found: Findings) -> str | None:
    """The seed as Python, made of whole numbers only whatever the file says."""
    try:
        entropy = ast.literal_eval(str(found.run.attrs.get("seed")))
        key = [int(k) for k in np.atleast_1d(found.run.attrs.get("seed_spawn_key", []))]
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        return None
    whole = entropy if isinstance(entropy, list | tuple) else [entropy]
    if not whole or not all(type(k) is int and k >= 0 for k in whole):
        return None
    if entropy is whole[0] and not key:
        return repr(entropy)
    given = repr(entropy) if entropy is whole[0] else repr(list(whole))
    return f"np.random.SeedSequence({given}, spawn_key={tuple(key)!r})"


def _given_proposal(found: Findings) -> float | None:
    """The proposal's parameter where it was given; tuned ones differ, and have many digits."""
    used = np.unique(found.run.attrs.get("proposal_concentration", []))
    if len(used) != 1:
        return None
    # It went through a logarithm, which costs the last digit.
    value = float(f"{float(used[0]):.15g}")
    return value if found.chains > 1 or value == float(f"{value:.6g}") else None
