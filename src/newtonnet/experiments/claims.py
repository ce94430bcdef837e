"""Every claim that ``newtonnet reproduce`` knows, by name; a new one is one import and one entry."""

from .claim import Claim
from .frequency import FREQUENCY
from .interpolation import INTERPOLATION
from .theory import THEORY

CLAIMS: dict[str, Claim] = {claim.name: claim for claim in (THEORY, INTERPOLATION, FREQUENCY)}


def find_claim(name: str) -> Claim:
    """The claim of this name."""
    if name not in CLAIMS:
        raise ValueError(f"unknown claim {name!r}; available: {', '.join(sorted(CLAIMS))}")
    return CLAIMS[name]
