"""Models as populations: layers, spectral networks, and the zoo that names them."""

from .layers import FeatureMatrix, Inputs, feature_matrix
from .noise import Noise
from .polynomial_models import Options
from .population import Population
from .spectral import SpectralNet, check_condition
from .zoo import ZOO, Entry, build, find_model

__all__ = [
    "ZOO",
    "Entry",
    "FeatureMatrix",
    "Inputs",
    "Noise",
    "Options",
    "Population",
    "SpectralNet",
    "build",
    "check_condition",
    "feature_matrix",
    "find_model",
]
