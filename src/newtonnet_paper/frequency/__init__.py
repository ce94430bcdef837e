"""Fig. 1b: the frequencies that the best of 216 fixed filters pass, from heterophilous to homophilous graphs."""

from .bands import AMPLITUDES
from .study import FREQUENCY

__all__ = ["AMPLITUDES", "FREQUENCY"]
