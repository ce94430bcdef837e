"""Claims of the paper, their published numbers, and the settings to run models with."""

from .published import DATASETS, HOMOPHILY, SCORES
from .settings import DEFAULTS, Setting, find_setting

__all__ = ["DATASETS", "DEFAULTS", "HOMOPHILY", "SCORES", "Setting", "find_setting"]
