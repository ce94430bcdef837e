"""Every claim that ``newtonnet reproduce`` knows, by name; a new one is one import and one entry."""

from newtonnet.meaning import meant

from .ablation import ABLATION
from .authors_settings import PUBLISHED
from .beyond import BEYOND
from .claim import Claim
from .cost import COST
from .filters import FILTERS
from .frequency import FREQUENCY
from .interpolation import INTERPOLATION
from .learned_homophily import LEARNED_HOMOPHILY
from .sensitivity import SENSITIVITY
from .table1 import TABLE1
from .theory import THEORY
from .untouched import UNTOUCHED_GRAPHS
from .variants import ADJACENCY_BRANCH, SIGNED_VALUES
from .weak_supervision import WEAK_SUPERVISION

CLAIMS: dict[str, Claim] = {
    claim.name: claim
    for claim in (
        TABLE1,
        PUBLISHED,
        BEYOND,
        ADJACENCY_BRANCH,
        SIGNED_VALUES,
        UNTOUCHED_GRAPHS,
        WEAK_SUPERVISION,
        ABLATION,
        FILTERS,
        LEARNED_HOMOPHILY,
        SENSITIVITY,
        COST,
        FREQUENCY,
        THEORY,
        INTERPOLATION,
    )
}
"""In the order of the page of results."""


def find_claim(name: str) -> Claim:
    """The claim of this name."""
    if name not in CLAIMS:
        raise ValueError(f"unknown claim {name!r}; {meant(name, CLAIMS)}available: {', '.join(sorted(CLAIMS))}, all")
    return CLAIMS[name]
