"""Claims of the paper, their published numbers, and the settings to run models with."""

from .published import DATASETS, HOMOPHILY, SCORES
from .settings import Setting, find_setting, override

__all__ = ["DATASETS", "HOMOPHILY", "SCORES", "Setting", "find_setting", "override"]
