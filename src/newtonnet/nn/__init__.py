"""Models as populations: layers, spectral and spatial networks, and the zoo that names them."""

from .glognn import GloGNN, GloGNNOptions
from .inputs import FeatureMatrix, Inputs, feature_matrix, fingerprint, normalised_inputs
from .layers import feature_linear, member_linear, multiply, uniform_start
from .linkx import Linkx, LinkxOptions
from .noise import Noise, check_rate, dropout, is_native
from .polynomial_models import DegreeOptions, Options, build_spectral, interpolation_points, spectral_builder
from .population import Population
from .spatial import GCN, ChebNet, ChebNetOptions, GCNOptions, MixHop, MixHopOptions
from .spectral import Branch, SpectralNet, check_condition
from .stacks import NewtonStack, NewtonStackOptions, TunedGCN, TunedGCNOptions
from .zoo import ZOO, ModelEntry, build, find_model

__all__ = [
    "GCN",
    "ZOO",
    "Branch",
    "ChebNet",
    "ChebNetOptions",
    "DegreeOptions",
    "FeatureMatrix",
    "GCNOptions",
    "GloGNN",
    "GloGNNOptions",
    "Inputs",
    "Linkx",
    "LinkxOptions",
    "MixHop",
    "MixHopOptions",
    "ModelEntry",
    "NewtonStack",
    "NewtonStackOptions",
    "Noise",
    "Options",
    "Population",
    "SpectralNet",
    "TunedGCN",
    "TunedGCNOptions",
    "build",
    "build_spectral",
    "check_condition",
    "check_rate",
    "dropout",
    "feature_linear",
    "feature_matrix",
    "find_model",
    "fingerprint",
    "interpolation_points",
    "is_native",
    "member_linear",
    "multiply",
    "normalised_inputs",
    "spectral_builder",
    "uniform_start",
]
