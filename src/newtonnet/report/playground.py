"""The playground's place on the page: its controls and tables, and the run's own numbers for its script."""

import numpy as np

from newtonnet.polynomials import chebyshev_points

from .filter_shape import FilterShape
from .findings import Response, Spectrum
from .markup import script_data
from .plot_style import BAND_NAMES
from .quantities import decimal, is_known

SCRIPTS = ("polynomial.js", "playground.js")
MOST = 14
"""Points that can be chosen; a filter that was learned with more keeps them."""
SAMPLED = 11
"""Points at which the curve of a filter without points of its own is taken up."""


def playground(shape: FilterShape, response: Response, spectrum: Spectrum | None) -> str:
    """Points to drag, inputs for the penalty, and tables that the script fills."""
    start = _start(shape, response, spectrum)
    most = max(MOST, len(shape.points))
    return (
        '<div class="playground" id="playground">'
        f"{_controls(most)}{_drawing(spectrum)}{_penalty_inputs()}{_penalty_table(response)}"
        f"{_passed_table() if spectrum is not None else ''}</div>{script_data('playground-data', start)}"
    )


def _start(shape: FilterShape, response: Response, spectrum: Spectrum | None) -> dict[str, object]:
    """What reset goes back to: the mean shape over splits at the mean of their sizes."""
    scale = shape.scale if shape.scale > 0 else 1.0
    pivot = response.pivot if is_known(response.pivot) else 0.0
    points, values = shape.points, shape.values
    if not points:
        points = chebyshev_points(SAMPLED - 1).tolist()
        values = np.interp(points, shape.frequencies, shape.mean).tolist()
    return {
        "points": points,
        "values": [scale * value for value in values],
        "scale": scale,
        "nonnegative": response.nonnegative,
        "gammas": [gamma if is_known(gamma) else 0.0 for gamma in response.gammas],
        "pivot": pivot,
        "h": response.homophily if is_known(response.homophily) else pivot,
        "squared": response.squared,
        "spectrum": None
        if spectrum is None
        else {
            "frequencies": list(spectrum.frequencies),
            "density": [value if is_known(value) else 0.0 for value in spectrum.density],
            "label_energy": [value if is_known(value) else 0.0 for value in spectrum.label_energy],
        },
    }


def _controls(most: int) -> str:
    presets = (
        ("learned", "learned"),
        ("low", "low-pass"),
        ("high", "high-pass"),
        ("band", "band-pass"),
        ("identity", "identity"),
    )
    buttons = "".join(
        f'<button type="button" data-part="preset" data-preset="{key}">{name}</button>' for key, name in presets
    )
    return f"""<div class="settings"><fieldset><legend>start from</legend>{buttons}</fieldset>
<label><span>number of points</span><input type="number" data-part="count" min="2" max="{most}" step="1"></label>
<label><span>where they lie</span><select data-part="kind"><option value="learned">as learned</option>
<option value="equispaced">equispaced</option><option value="chebyshev">Chebyshev</option></select></label>
<label class="tick"><input type="checkbox" data-part="nonnegative"> values not below 0 (ReLU)</label>
<button type="button" data-part="reset">reset</button></div>
"""


def _drawing(spectrum: Spectrum | None) -> str:
    key = (
        '<ul class="key"><li><i class="is-density"></i>the graph\'s frequencies</li>'
        '<li><i class="is-passed"></i>what is left of them after the filter, scaled to the same area</li></ul>'
        if spectrum is not None
        else ""
    )
    return f"""<svg data-part="drawing" role="group" aria-label="Filter playground: one slider for each point">
<clipPath id="playground-frame"><rect data-part="frame"></rect></clipPath><g data-part="back"></g>
<path class="density" data-part="density"></path><path class="passed" data-part="passed"></path>
<path class="curve" data-part="curve" clip-path="url(#playground-frame)"></path><g data-part="handles"></g></svg>
{key}<p class="quiet" data-part="note"></p>
"""


def _penalty_inputs() -> str:
    gammas = "".join(
        f"<label><span>γ{i} ({band})</span>"
        f'<input type="number" data-part="gamma" min="0" step="any" inputmode="decimal"></label>'
        for i, band in enumerate(BAND_NAMES, 1)
    )
    return f"""<h3>The shape penalty</h3><div class="settings"><label><span>homophily h:
<output data-part="h-shown" aria-live="off"></output></span>
<input type="range" data-part="h" min="0" max="1" step="0.001"></label>{gammas}</div>
"""


def _penalty_table(response: Response) -> str:
    norm = "‖t‖²" if response.squared else "‖t‖"
    rows = "".join(
        f'<tr><th scope="row">{band}</th><td data-part="does-{band}"></td>'
        + "".join(f'<td class="number" data-part="{part}-{band}"></td>' for part in ("pull", "norm", "term"))
        + "</tr>"
        for band in BAND_NAMES
    )
    formula = (
        f"γ₁(p − h){norm} over the low points + γ₂|h − p|{norm} over the middle ones "
        f"+ γ₃(h − p){norm} over the high ones, with p = {decimal(response.pivot)}"
    )
    return f"""<p class="sum">Penalty: <output data-part="total" aria-live="off"></output></p>
<p class="quiet">{formula}. A negative term rewards amplitude in its band.</p>
<div class="scroll" tabindex="0" role="region" aria-label="The penalty by band"><table>
<caption><span>The penalty by band</span></caption><thead><tr><th scope="col">band</th><th scope="col">amplitude is</th>
<th scope="col" class="number">factor</th><th scope="col" class="number">{norm}</th>
<th scope="col" class="number">penalty</th></tr></thead><tbody>{rows}
<tr class="total"><th scope="row">sum</th><td></td><td></td><td></td><td class="number" data-part="total"></td></tr>
</tbody></table></div>
"""


def _passed_table() -> str:
    columns = (
        ("before", "graph's frequencies"),
        ("after", "after the filter"),
        ("labels", "labels' energy"),
        ("kept", "of which kept"),
    )
    heads = "".join(f'<th scope="col" class="number">{name}</th>' for _, name in columns)
    rows = "".join(
        f'<tr><th scope="row">{band}</th>'
        + "".join(f'<td class="number" data-part="{part}-{band}"></td>' for part, _ in columns)
        + "</tr>"
        for band in BAND_NAMES
    )
    return f"""<h3>On this graph's spectrum</h3>
<div class="scroll" tabindex="0" role="region" aria-label="What passes in each band"><table>
<caption><span>What passes in each band, as energy g(λ)²; kept is relative to the largest amplitude</span></caption>
<thead><tr><th scope="col">band</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>
"""
