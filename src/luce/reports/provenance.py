"""Provenance of a run: its settings, and the lines that give the same draws again."""

from __future__ import annotations

import ast
import json
import shlex
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from luce.answers.updates import Update
from luce.counts.labels import plural
from luce.model.priors import Gamma
from luce.page.document import Cell, Code, Page
from luce.reports.findings import (
    ChoiceFindings,
    Findings,
    RunFindings,
    SegmentFindings,
    SeparateRowsFindings,
    TransitionFindings,
)
from luce.version import __version__

_UNKNOWN = "not recorded"
_REBUILD = "from luce.sequences.semi_markov_runs import semi_markov_of"


def write_provenance(
    page: Page, found: RunFindings, source: str | None, title: str | None = None
) -> None:
    """Add settings and fingerprint of the run, and the lines that give its draws and page again.

    `title` is the page's heading where one was given.
    """
    page.facts(_facts(found))
    update = Update.in_attributes(found.run.attrs)
    if update is not None:
        page.text(
            f"This run took in data after its first draws, by {plural(update.number, 'update')}. "
            f"The last one: {update}"
        )
        page.text(
            "The same runs, data and seeds give the same draws again: those of the first run, then "
            "of each update (luce.update)."
        )
        return
    lines = python_lines(found, source)
    if lines is None:
        page.text("The seed of this run is not recorded, so its draws cannot be made again.")
        return
    page.text("These lines give the same draws, bit for bit:")
    page.preformatted("\n".join(lines))
    page.text("So does this, from a shell; and then this page again:")
    page.preformatted("\n".join(shell_lines(lines, source, page_options(found, title))))
    unsure = (
        " Starting points other than draws of the prior are not recorded either: if `initial` "
        "was given, give it again."
    ) * (isinstance(found, ChoiceFindings) and not found.independent)
    page.text(
        "The number of threads does not matter. Other versions of luce, NumPy or numba may give "
        f"other draws of the same posterior.{unsure}"
    )


def python_lines(found: RunFindings, source: str | None) -> list[str] | None:
    """Write Python that makes the draws again from the saved run; None where the seed is unknown.

    Parameters
    ----------
    found
        The run.
    source
        Name of the file that holds it; None for a run in memory.
    """
    seed = _seed(found)
    if seed is None:
        return None
    if isinstance(found, TransitionFindings):
        lines = _fit_lines(found, seed)
    elif isinstance(found, SeparateRowsFindings):
        lines = _rows_lines(found, seed)
    elif isinstance(found, SegmentFindings):
        lines = _segment_lines(found, seed)
    else:
        assert isinstance(found, ChoiceFindings)
        drawn = 'posterior["probabilities"]'
        lines = [
            _sample_line(found, seed),
            f"print((again.{drawn} == run.{drawn}).all().item())",
        ]
    # Escapes of JSON are those of Python, and the path stays on its line.
    quoted = json.dumps(source or "run.nc", ensure_ascii=False)
    return [
        "import luce",
        *([_REBUILD] if isinstance(found, SegmentFindings) else []),
        *(["import numpy as np", ""] if seed.startswith("np.") else []),
        f"run = luce.load({quoted})"
        + ("" if source else '  # written by luce.save(run, "run.nc")'),
        *lines,
    ]


def shell_lines(lines: list[str], source: str | None, options: Sequence[str] = ()) -> list[str]:
    """Write shell commands that run the lines of Python and write the page."""
    run = source or "run.nc"
    command = ["luce", "report", run, "--out", f"{PurePath(run).stem}.html", *options]
    return ["python - <<'END'", *lines, "END", shlex.join(command)]


def page_options(found: RunFindings, title: str | None) -> list[str]:
    """List the options of `luce report` that the page was written with, others than usual."""
    options = [] if title is None else [f"--title={title}"]
    if found.ci_prob != 0.9:
        options.append(f"--ci-prob={found.ci_prob!r}")
    if not isinstance(found, Findings):
        return options
    ranked, effects = set(found.view.categories), found.whole.effects
    if ranked != {label for label in found.whole.categories if label not in effects}:
        options += [f"--among={label}" for label in found.view.categories]
    return options


def _facts(found: RunFindings) -> dict[str, Cell]:
    attributes = found.run.attrs

    def told(name: str) -> str:
        return str(attributes.get(name, _UNKNOWN))

    seconds = attributes.get("sampling_time")
    warmup = f"{told('warmup')} sweeps of each chain, discarded"
    return {
        "Drawn by": f"{told('inference_library')} {told('inference_library_version')}",
        "Drawn at": told("created_at"),
        "Took": f"{seconds:,.3g} seconds" if isinstance(seconds, int | float) else _UNKNOWN,
        "Seed": Code(_seed(found) or told("seed")),
        "Chains": f"{found.chains} of {plural(found.draws, 'draw')} each",
        "Warm-up": "none: independent draws need none" if found.independent else warmup,
        "Method": Code(told("method")),
        "Simulated": _simulated(found),
        "Prior": told("prior"),
        "Data": told("data"),
        "Digest of the data": Code(told("data_digest")),
        "Page written by": f"luce {__version__}",
    }


def _simulated(found: RunFindings) -> str:
    if isinstance(found, SegmentFindings):
        return "states of all rows, parameters and transition probabilities"
    if isinstance(found, TransitionFindings):
        return "base, concentrations and rows"
    if found.independent and found.run.attrs.get("method") == "exact":
        return "nothing"
    if isinstance(found, SeparateRowsFindings):
        return "rows with sets of states that overlap without nesting"
    if found.run.attrs.get("reduced") == 1:
        return "only the parts where sets overlap without nesting"
    return "all categories"


def _sample_line(found: ChoiceFindings, seed: str) -> str:
    attributes = found.run.attrs
    options = {"chains": repr(found.chains), "seed": seed}
    if not found.independent:
        certified = "certified" in attributes
        options["warmup"] = repr("certified" if certified else int(attributes.get("warmup", 0)))
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
    return f"again = luce.posterior_of(run).sample({_arguments(found, options)})"


def _fit_lines(found: TransitionFindings, seed: str) -> list[str]:
    model, n = found.model, len(found.data.labels)
    scales = ", ".join(
        f"luce.Gamma({x.shape!r}, {x.rate!r})" if isinstance(x, Gamma) else repr(x)
        for x in (model.concentration, model.base_concentration)
    )
    states, mask = repr(n), ', forbidden=run.constant_data["forbidden"].values.astype(bool)'
    if model.is_nonparametric:
        states, mask = '"nonparametric"', ""
    loops = "kept" if model.self_loops else "removed"
    options = {
        "chains": repr(found.chains),
        "seed": seed,
        "warmup": repr(int(found.run.attrs.get("warmup", 0))),
        "rows": repr(found.rows is not None),
        "starts": "starts",
    }
    return [
        "# States go by their numbers here, in the order of the run.",
        f'counts = run.observed_data["transition_counts"].values[:, :{n}]',
        f'starts = dict(enumerate(run.observed_data["starts"].values[:{n}].tolist()))',
        f'model = luce.HDPTransitions({states}, {scales}{mask}, self_loops="{loops}")',
        f"again = model.fit(counts, {_arguments(found, options)})",
        'print((again.posterior["base"].values == run.posterior["base"].values).all())',
    ]


def _rows_lines(found: SeparateRowsFindings, seed: str) -> list[str]:
    options = {"chains": repr(found.chains), "seed": seed}
    if not found.independent:
        options["warmup"] = repr(int(found.run.attrs.get("warmup", 0)))
    reason = str(found.run.attrs.get("reason", ""))
    if reason.startswith("asked for") or "; asked for" in reason:
        options["method"] = repr(_asked_for(found))
    options["log_probabilities"] = repr("log_rows" in found.run["posterior"].data_vars)
    return [
        "model = luce.sequences.SeparateRows.of_run(run)",
        f"again = model.sample({_arguments(found, options)})",
        'print((again.posterior["rows"] == run.posterior["rows"]).all().item())',
    ]


def _asked_for(found: SeparateRowsFindings) -> str:
    """Return the method that was asked for: that of the rows which are not exact anyway."""
    methods = [str(name) for name in found.run.attrs["row_methods"]]
    return next((name for name in methods if name != "exact"), "exact")


def _segment_lines(found: SegmentFindings, seed: str) -> list[str]:
    kept = int(found.run["states"].sizes["draw"])
    options = {
        "chains": repr(found.chains),
        "seed": seed,
        "warmup": repr(int(found.run.attrs.get("warmup", 0))),
        "keep_states": repr(kept),
        "split_merge": repr(int(found.run.attrs.get("split_merge", 0))),
    }
    lines = ["model, series, may_end = semi_markov_of(run)"]
    if len(found.may_end):
        # A segment may begin at the row after one with which a segment may end.
        lines.append("candidates = [False, *may_end[:-1].tolist()]")
        options["candidates"] = "candidates"
    return [
        *lines,
        f"again = model.fit(series, {_arguments(found, options)})",
        'print((again["states"]["states"].values == run["states"]["states"].values).all())',
    ]


def _arguments(found: RunFindings, options: dict[str, str]) -> str:
    return ", ".join([repr(found.draws), *(f"{k}={v}" for k, v in options.items())])


def _seed(found: RunFindings) -> str | None:
    """Write the seed as Python if it consists of whole numbers, else return None."""
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
    """Return the proposal's concentration where it was given: tuned ones differ among chains."""
    used = np.unique(found.run.attrs.get("proposal_concentration", []))
    if len(used) != 1:
        return None
    # The value went through a logarithm, which costs the last digit.
    value = float(f"{float(used[0]):.15g}")
    return value if found.chains > 1 or value == float(f"{value:.6g}") else None
