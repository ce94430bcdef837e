"""Fig. 1b: the frequencies that the best of 216 fixed filters pass, from heterophilous to homophilous graphs."""

from .study import FREQUENCY
from .training import AMPLITUDES

__all__ = ["AMPLITUDES", "FREQUENCY"]
