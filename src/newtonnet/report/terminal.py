"""Learned filters as small pictures for a terminal."""

from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"


def draw_response(response: Sequence[float], *, height: int = 6) -> str:
    """A bar for each frequency from 0 to 2, scaled to the largest amplitude; negative amplitudes hang as dots.

    >>> print(draw_response([0.0, 1.0, 2.0, 1.0, 0.5] + 10 * [0.0], height=2))
    2.0 ┤  █
        ┤ ███▄
        └───────────────
          low  mid  high
    """
    top = max(max(response), 1e-9)
    label = f"{top:.1f}"
    pad = " " * len(label)
    lines = []
    for row in range(height - 1, -1, -1):
        cells = [min(max(value / top * height - row, 0), 1) for value in response]
        bars = "".join(BLOCKS[round(8 * cell)] for cell in cells)
        if row == 0:
            bars = "".join("·" if value < 0 else bar for value, bar in zip(response, bars, strict=True))
        lines.append(f"{label if row == height - 1 else pad} ┤{bars}".rstrip())
    lines.append(f"{pad} └{'─' * len(response)}")
    third = len(response) // 3
    axis = "low".center(third) + "mid".center(len(response) - 2 * third) + "high".center(third)
    lines.append(f"{pad}  {axis}".rstrip())
    return "\n".join(lines)
