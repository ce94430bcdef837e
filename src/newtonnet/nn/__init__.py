"""Models as populations: layers, spectral networks, and the zoo that names them."""

from .layers import FeatureMatrix, Inputs, feature_matrix
from .noise import Noise
from .population import Population
from .spectral import SpectralNet, check_condition
from .zoo import ZOO, Options, build

__all__ = [
    "ZOO",
    "FeatureMatrix",
    "Inputs",
    "Noise",
    "Options",
    "Population",
    "SpectralNet",
    "build",
    "check_condition",
    "feature_matrix",
]
