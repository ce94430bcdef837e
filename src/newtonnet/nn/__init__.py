"""Models as populations: layers, spectral and spatial networks, and the zoo that names them."""

from .adjacency_models import GloGNNOptions, LinkxOptions
from .encoder import feature_linear
from .inputs import FeatureMatrix, Inputs, feature_matrix, fingerprint
from .layers import EPSILON, member_linear, multiply
from .noise import Noise, dropout, is_native
from .polynomial_models import DegreeOptions, Options, build_spectral, interpolation_points
from .population import Population
from .spatial import ChebNetOptions, GCNOptions, MixHopOptions
from .spectral import SpectralNet, check_condition
from .stacks import NewtonStack, NewtonStackOptions, TunedGCNOptions
from .zoo import ZOO, ModelEntry, build, find_model

__all__ = [
    "EPSILON",
    "ZOO",
    "ChebNetOptions",
    "DegreeOptions",
    "FeatureMatrix",
    "GCNOptions",
    "GloGNNOptions",
    "Inputs",
    "LinkxOptions",
    "MixHopOptions",
    "ModelEntry",
    "NewtonStack",
    "NewtonStackOptions",
    "Noise",
    "Options",
    "Population",
    "SpectralNet",
    "TunedGCNOptions",
    "build",
    "build_spectral",
    "check_condition",
    "dropout",
    "feature_linear",
    "feature_matrix",
    "find_model",
    "fingerprint",
    "interpolation_points",
    "is_native",
    "member_linear",
    "multiply",
]
