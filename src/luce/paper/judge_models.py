"""Claims on the model: densities of three categories, and the hidden counts."""

from __future__ import annotations

from luce.paper.agreement import FALSE_ALARM
from luce.paper.augmented import CUT, LARGEST, SummedOut
from luce.paper.claims import Claim, graded, unless_it_holds
from luce.paper.densities import Densities


def about_densities(found: Densities) -> list[Claim]:
    """Check the mesh against the sampler, and the formula for one truncated term."""
    printed, mesh, closed = (m[0] for m in (found.printed_mean, found.mesh_mean, found.closed_mean))
    conjugate = graded([abs(printed - mesh) < 1e-3])
    return [
        Claim(
            "With one truncated term the posterior is a product of two Dirichlets, over the "
            "truncated categories and over the kept ones.",
            f"mean of the truncated probability: {printed:.3f} by the formula as printed, "
            f"{mesh:.4f} by the mesh, {closed:.4f} with a Beta factor for the truncated mass",
            "the formula as printed and the mesh agree within 0.001",
            conjugate,
            printed,
            unless_it_holds(
                conjugate,
                "A slip: the Beta factor is missing, and the truncated part is divided by the "
                "wrong total, so that it does not add up to 1 (Dir(x | α) is read as Π x^(α−1) "
                "there). Put right, the posterior is still conjugate and drawn exactly.",
            ),
        ),
        Claim(
            "The sampler draws from the density that is summed over the mesh.",
            f"χ² = {found.chi_square:,.0f} on {found.freedom:,} degrees of freedom "
            f"(p = {found.p_value:.2g}) for {found.n_draws:,} draws of the sampler",
            f"p is at least {FALSE_ALARM:g}",
            graded([found.p_value >= FALSE_ALARM]),
            found.p_value,
            ours=True,
        ),
    ]


def about_models(found: SummedOut) -> list[Claim]:
    """Check that the hidden counts sum out."""
    return [
        Claim(
            "Summed over its hidden counts, the augmented model is the posterior.",
            f"largest relative error of a ratio of densities, over {found.points} points of a "
            "posterior of four categories with two different truncated terms: "
            f"{found.largest_error:.1e}; hidden counts summed up to {CUT} a term, truncated "
            f"probabilities up to {LARGEST}",
            "the error is below 1e-9",
            graded([found.largest_error < 1e-9]),
            found.largest_error,
        )
    ]
