"""Models as populations: layers, spectral and spatial networks, and the zoo that names them."""

from .branch import Branch
from .glognn import GloGNN, GloGNNOptions
from .inputs import normalised_inputs
from .layers import FeatureMatrix, Inputs, feature_linear, feature_matrix, uniform_start
from .linkx import Linkx, LinkxOptions
from .mixhop import MixHop, MixHopOptions
from .newton_stack import NewtonStack, NewtonStackOptions
from .noise import Noise, is_native
from .polynomial_models import DegreeOptions, Options, build_spectral
from .population import Population
from .spatial import GCN, ChebNet, ChebNetOptions, GCNOptions
from .spectral import SpectralNet, check_condition
from .tuned_gcn import TunedGCN, TunedGCNOptions
from .zoo import ZOO, Entry, build, find_model

__all__ = [
    "GCN",
    "ZOO",
    "Branch",
    "ChebNet",
    "ChebNetOptions",
    "DegreeOptions",
    "Entry",
    "FeatureMatrix",
    "GCNOptions",
    "GloGNN",
    "GloGNNOptions",
    "Inputs",
    "Linkx",
    "LinkxOptions",
    "MixHop",
    "MixHopOptions",
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
    "feature_linear",
    "feature_matrix",
    "find_model",
    "is_native",
    "normalised_inputs",
    "uniform_start",
]
