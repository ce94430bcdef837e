"""Newton interpolation: divided differences, the nested form, and the Lagrange form as a matrix."""

import torch
from torch import Tensor


def divided_differences(points: Tensor, values: Tensor) -> Tensor:
    r"""Newton coefficients of the polynomial through ``(points, values)``.

    .. math::
        g[q_k] = t_k, \qquad
        g[q_k, \dots, q_{k+j}] = \frac{g[q_{k+1}, \dots, q_{k+j}] - g[q_k, \dots, q_{k+j-1}]}{q_{k+j} - q_k},
        \qquad a_k = g[q_0, \dots, q_k]

    Args:
        points: distinct points :math:`q_0, \dots, q_K`, shape ``(K+1,)``.
        values: :math:`t_k = g(q_k)`, shape ``(..., K+1)``; leading axes are a population.

    Returns:
        Coefficients :math:`a_k`, shape ``(..., K+1)``.

    >>> divided_differences(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 1.0, 4.0]))
    tensor([0., 1., 1.])

    References:
        Xu et al., Shape-aware Graph Spectral Learning, 2024, Definition 4.1 and Lemma 4.2.
    """
    column = values
    coefficients = [values[..., 0]]
    for j in range(1, len(points)):
        column = (column[..., 1:] - column[..., :-1]) / (points[j:] - points[:-j])
        coefficients.append(column[..., 0])
    return torch.stack(coefficients, dim=-1)


def newton_polynomial(points: Tensor, coefficients: Tensor, at: Tensor) -> Tensor:
    r"""The Newton form of a polynomial, evaluated by nested multiplication.

    .. math:: g(\lambda) = \sum_{k=0}^{K} a_k \prod_{i<k} (\lambda - q_i)

    Args:
        points: :math:`q_0, \dots, q_K`, shape ``(K+1,)``; the last one is not used.
        coefficients: :math:`a_k`, shape ``(K+1,)``.
        at: where to evaluate, any shape.

    Returns:
        :math:`g(\lambda)`, the shape of ``at``.

    >>> newton_polynomial(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.0, 1.0, 1.0]), torch.tensor([1.5]))
    tensor([2.2500])
    """
    result = torch.zeros_like(at) + coefficients[-1]
    for k in range(len(points) - 2, -1, -1):
        result = result * (at - points[k]) + coefficients[k]
    return result


def lagrange_matrix(points: Tensor, at: Tensor) -> Tensor:
    r"""The linear map from values at the points to values of the interpolant at other frequencies.

    .. math:: \ell_j(\lambda) = \prod_{m \ne j} \frac{\lambda - q_m}{q_j - q_m}

    Every entry is one product of ratios and exact to a few roundings. Divided differences would lose digits to
    cancellation as the degree grows.

    Args:
        points: distinct points, shape ``(K+1,)``.
        at: frequencies, shape ``(m,)``.

    Returns:
        :math:`\ell_j(\lambda_i)`, shape ``(m, K+1)``.

    >>> lagrange_matrix(torch.tensor([0.0, 1.0, 2.0]), torch.tensor([0.5, 1.5]))
    tensor([[ 0.3750,  0.7500, -0.1250],
            [-0.1250,  0.7500,  0.3750]])
    """
    count = len(points)
    ratio = torch.ones(len(at), count, dtype=points.dtype)
    for m in range(count):
        others = torch.arange(count) != m
        ratio[:, others] *= (at[:, None] - points[m]) / (points[others] - points[m])
    return ratio
