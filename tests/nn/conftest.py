"""Random weights, and members' parameters as plain arrays, for tests against references in numpy."""

import pytest
import torch


@pytest.fixture(scope="session")
def randomise():
    """Fill all parameters with normal numbers; running variances stay positive."""

    def fill(model, seed=9):
        generator = torch.Generator().manual_seed(seed)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                parameter.copy_(torch.randn(parameter.shape, dtype=parameter.dtype, generator=generator))
                if name.endswith("variance"):
                    parameter.abs_().add_(0.1)
        return model

    return fill


@pytest.fixture(scope="session")
def member():
    """The parameters of one member by name, as float64 arrays without the population axis."""

    def read(model, p):
        return {
            name: parameter.detach().double().select(model.axes[name], p).numpy()
            for name, parameter in model.named_parameters()
        }

    return read


@pytest.fixture(scope="session")
def assign():
    """Set parameters of a population of one to given numbers, in the shape of one member."""

    def write(model, **values):
        with torch.no_grad():
            for name, value in values.items():
                parameter = model.get_parameter(name)
                own = parameter.select(model.axes[name], 0)
                own.copy_(torch.as_tensor(value, dtype=parameter.dtype).reshape(own.shape))
        return model

    return write
