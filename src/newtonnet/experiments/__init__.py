"""Claims of the paper, their published numbers, and the settings to run models with."""

from newtonnet.training import Setting, override

from .published import DATASETS, HOMOPHILY, SCORES
from .settings import UNTOUCHED, find_setting, first_settings

__all__ = ["DATASETS", "HOMOPHILY", "SCORES", "UNTOUCHED", "Setting", "find_setting", "first_settings", "override"]
