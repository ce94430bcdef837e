"""Numbers of the theory checks as tables and a figure."""

from collections.abc import Sequence
from typing import Any

from newtonnet_paper.exhibit import Curves, Figure, Role, Series, Table


def lemma_table(lemma: Any) -> Table:
    """The measured chance level beside the lemma and the exact expectation."""
    rows = [
        (
            row["nodes"],
            row["classes"],
            round(row["lemma"], 4),
            round(row["exact"], 4),
            f"{row['measured']:.4f} ± {row['error']:.4f}",
            f"{row['with_loops']:.4f} ± {row['loop_error']:.4f}",
        )
        for row in lemma["rows"]
    ]
    uneven = lemma["unbalanced"]
    return Table(
        "Lemma 1: expected homophily of random edges",
        ("N", "C", "1/C", "(N/C - 1)/(N - 1)", "distinct pairs, measured", "self-pairs allowed, measured"),
        tuple(rows),
        (
            f"Mean over {lemma['trials']} random graphs ± standard error.",
            f"Classes must be equal: sizes {uneven['sizes'][0]} and {uneven['sizes'][1]} give {uneven['measured']:.3f} "
            f"(exact {uneven['exact']:.3f}), not 0.5.",
        ),
    )


def first_table(first: Any) -> Table:
    """Every reading of Theorem 1 and how often it is contradicted."""
    readings = (
        ("plain", "D - A", "g ≥ 0", "expectation over white signals"),
        ("magnitude", "D - A", "any sign, |g| crosses", "expectation over white signals"),
        ("scaled", "normalised", "g ≥ 0", "expectation, distances of x_s / √d_s"),
        ("normalised", "normalised", "g ≥ 0", "expectation, plain distances"),
        ("signed", "D - A", "any sign, g crosses", "expectation over white signals"),
        ("one signal", "D - A", "g ≥ 0", "one random signal, no expectation"),
        ("low signal", "D - A", "g ≥ 0", "a signal of the second frequency alone"),
    )
    rows = tuple((*words, first["trials"], first["violations"][name]) for name, *words in readings)
    return Table(
        "Theorem 1: trials that contradict E[Δs] > 0",
        ("Laplacian", "filters", "measured on", "trials", "contradictions"),
        rows,
        (
            "Random graphs, block models and CSBM of 8 to 60 nodes; filters cross once and have equal norms.",
            "How often random filters contradict a statement depends on how they are drawn; that they do does not.",
        ),
    )


def second_table(second: Any) -> Table:
    """Every kind of filters in Theorem 2 and how often its sign is wrong."""
    kinds = (
        ("affine", "g1² - g2² affine in λ", "1/C"),
        ("distinct", "the same, a node's pair with itself not counted", "(N/C - 1)/(N - 1)"),
        ("step", "one amplitude below, one above a frequency", "1/C"),
        ("agreeing", "any crossing filters with g1(0) = g2(0)", "1/C"),
        ("crossing", "any crossing filters", "1/C"),
    )
    rows = tuple((words, pivot, second["trials"], second["violations"][name]) for name, words, pivot in kinds)
    factors = second["factors"]
    return Table(
        "Theorem 2: trials that contradict the sign",
        ("filters (all at least 0)", "pivot", "trials", "contradictions"),
        rows,
        (
            f"The exact expression agrees with the sum over all pairs to {second['identity_error']:.0e}.",
            f"The proof's factor over the exact one: {factors['regular_low']:.3f} to {factors['regular_high']:.3f} on "
            f"regular graphs, {factors['uneven_low']:.2f} to {factors['uneven_high']:.2f} on others, where it is "
            f"1 + var(d)/mean(d) to {factors['error']:.0e}.",
        ),
    )


def examples(first: Any, second: Any) -> Table:
    """The smallest case that contradicts each statement."""
    named = (
        ("Theorem 1, signed filters, D - A", first["signed_example"], "E[Δs] > 0"),
        ("Theorem 1, normalised Laplacian", first["normalised_example"], "E[Δs] > 0"),
        ("Theorem 2, h above 1/C", second["example"], "gap < 0"),
    )
    rows = tuple(
        (
            name,
            " ".join("-".join(map(str, edge)) for edge in example["edges"])
            + (
                f"; classes {''.join(map(str, example['labels']))}, h = {example['homophily']:.3g}"
                if "labels" in example
                else ""
            ),
            _numbers(example["frequencies"]),
            _numbers(example["g1"]),
            _numbers(example["g2"]),
            claimed,
            round(example["gap"], 4),
        )
        for name, example, claimed in named
    )
    return Table("Smallest counterexamples", ("statement", "edges", "λ", "g1", "g2", "claimed", "measured"), rows)


def figure(by_h: Any) -> Figure:
    """Where Theorem 2 errs, and the classes' mean frequency, over homophily."""
    h = tuple(by_h["homophily"])
    words: tuple[tuple[str, str, Role], ...] = (
        ("affine", "affine difference", "low"),
        ("step", "step filters", "middle"),
        ("crossing", "any filters", "high"),
    )
    wrong = Curves(
        "How often Theorem 2 has the wrong sign",
        "homophily h",
        "share of trials",
        tuple(Series(text, h, tuple(by_h["shares"][name]), role=role) for name, text, role in words),
        upright=((0.5, "1/C"),),
    )
    mean = Curves(
        "Mean frequency: classes over graph",
        "homophily h",
        "ratio",
        (
            Series("(1 - h) / (1 - 1/C)", h, tuple(2 * (1 - value) for value in h), kind="dashed", role="quiet"),
            Series("measured", h, tuple(by_h["ratio"]), kind="points", role="main"),
        ),
        upright=((0.5, "1/C"),),
    )
    caption = (
        f"CSBM graphs of {by_h['nodes']} nodes, {by_h['trials']} trials. Left: the theorem is exact for affine "
        "differences and errs for others, most of all near 1/C. Right: h is above 1/C exactly where the classes lie "
        "below the mean frequency."
    )
    return Figure("separation", caption, (wrong, mean))


def _numbers(values: Sequence[float]) -> str:
    return "(" + ", ".join(f"{value:.4g}" for value in values) + ")"
