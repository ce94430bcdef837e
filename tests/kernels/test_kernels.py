"""Every kernel against numpy, scipy or autograd, at widths that fill registers and widths that do not."""

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from newtonnet import kernels
from newtonnet.graphs import csr_tensor
from newtonnet.kernels import Mask, use_threads
from newtonnet.kernels.native import instruction_sets, load
from newtonnet.nn import noise

WIDTHS = [1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 64, 65, 100]
TYPES = [torch.float32, torch.float64]
TOLERANCE = {torch.float32: 2e-5, torch.float64: 1e-12}


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def native(request, monkeypatch):
    """The module for every instruction set that this machine has."""
    if not kernels.available() or request.param not in instruction_sets():
        pytest.skip(f"no kernels for {request.param}")
    module = load(request.param)
    for user in ("products", "elementwise", "scores"):
        monkeypatch.setattr(f"newtonnet.kernels.{user}.native", lambda: module)
    return module


pytestmark = pytest.mark.usefixtures("native")


@pytest.fixture
def every_thread(monkeypatch):
    """Threads are used however little work there is."""
    monkeypatch.setattr("newtonnet.kernels.threads.WORTH_A_THREAD", 0)


def close(ours, theirs):
    theirs = torch.as_tensor(np.asarray(theirs), dtype=ours.dtype)
    torch.testing.assert_close(ours, theirs, rtol=TOLERANCE[ours.dtype], atol=TOLERANCE[ours.dtype])


def normal(rng, *shape, dtype=torch.float64):
    return torch.tensor(rng.standard_normal(shape), dtype=dtype)


def sparse(rng, n, m, density, dtype):
    matrix = sp.csr_array(sp.random(n, m, density, random_state=rng, data_rvs=rng.standard_normal))
    tensor = csr_tensor(
        torch.from_numpy(matrix.indptr.astype(np.int32)),
        torch.from_numpy(matrix.indices.astype(np.int32)),
        torch.tensor(matrix.data, dtype=dtype),
        matrix.shape,
    )
    return matrix, kernels.make_pattern(tensor), tensor.values()


def make_operator(matrix, order, *, scale=None, dtype=torch.float64):
    """A kernel's operator for a scipy matrix whose nodes are taken in another order; with a scale S it is S A S."""
    turned = sp.csr_array(matrix[order][:, order])
    columns = np.concatenate([turned.indices, np.zeros(kernels.AHEAD)]).astype(np.int32)
    values = torch.tensor(turned.data, dtype=dtype) if scale is None else None
    own = np.ones(len(order)) if scale is None else scale[order]
    rows = torch.tensor(turned.indptr, dtype=torch.int32)
    places = torch.tensor(order, dtype=torch.int32)
    return kernels.make_operator(rows, torch.from_numpy(columns), places, values, torch.tensor(own, dtype=dtype))


def series_of(matrix, x, coefficients, against):
    """The same sum and inner products by dense matrices."""
    terms = [x, -matrix @ x]
    while len(terms) < len(coefficients):
        terms.append(-2 * matrix @ terms[-1] - terms[-2])
    terms = terms[: len(coefficients)]
    total = sum(c * term for c, term in zip(coefficients, terms, strict=True))
    return total, np.stack([(against * term).sum(axis=0) for term in terms])


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_series_equals_the_dense_recurrence_at_every_width(weighted, dtype, rng, every_thread):
    n = 41
    graph = (rng.random((n, n)) < 0.15) * 1.0
    graph[[3, 11, n - 1]] = 0  # rows without entries
    graph[:, 5] = 0
    scale = None if weighted else rng.uniform(0.1, 0.5, n)
    dense = graph * rng.uniform(-0.4, 0.4, (n, n)) if weighted else scale[:, None] * graph * scale
    stored = dense if weighted else graph
    operator = make_operator(sp.csr_array(stored), rng.permutation(n), scale=scale, dtype=dtype)
    for width in range(1, 71):
        x, other = normal(rng, n, width, dtype=dtype), normal(rng, n, width, dtype=dtype)
        c = normal(rng, 1 + width % 5, width, dtype=dtype)
        total, inner = series_of(dense, *(part.double().numpy() for part in (x, c, other)))
        for threads in (1, 2 + width % 2):
            with use_threads(threads):
                found, products = kernels.series(operator, 100, x, c, other)
                alone, nothing = kernels.series(operator, 100, x, c, None)
            close(found / 10, total / 10)
            close(products / 100, inner / 100)
            assert nothing is None
            assert torch.equal(alone, found)


@pytest.mark.parametrize("nodes", [0, 1, 2])
@pytest.mark.parametrize("columns", [0, 1, 9])
def test_a_series_without_nodes_columns_or_entries_is_its_first_terms(nodes, columns, rng, every_thread):
    operator = make_operator(sp.csr_array((nodes, nodes)), np.arange(nodes))
    x = normal(rng, nodes, columns)
    c = normal(rng, 3, columns)
    with use_threads(2):
        found, inner = kernels.series(operator, 0, x, c, x)
    close(found, (c[0] - c[2]) * x)  # T_1 = 0 and T_2 = -T_0
    close(inner, torch.stack([(x * x).sum(0), 0 * x.sum(0), -(x * x).sum(0)]))


@pytest.mark.parametrize("dtype", TYPES)
def test_a_product_equals_scipy_at_every_width(dtype, rng, every_thread):
    matrix, pattern, values = sparse(rng, 37, 23, 0.3, dtype)
    for width in range(1, 71):
        x = normal(rng, 23, 2, width, dtype=dtype)
        product = (matrix @ x.flatten(1).double().numpy()).reshape(37, 2, width)
        for threads in (1, 2 + width % 2):
            with use_threads(threads):
                close(kernels.multiply(pattern, values, x), product)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("rows", [40, 5000])  # a tile holds as many columns as registers do, or one line of 64 bytes
def test_a_wide_product_that_goes_through_the_cache_tile_by_tile_equals_scipy(rows, dtype, rng, every_thread):
    matrix, pattern, values = sparse(rng, 90, rows, min(1.0, 5 / 90), dtype)
    assert pattern.entries > 4 * rows
    for width in (64, 67, 100):
        x = normal(rng, rows, 4, width, dtype=dtype)
        product = (matrix @ x.flatten(1).double().numpy()).reshape(90, 4, width)
        for threads in (1, 3):
            with use_threads(threads):
                close(kernels.multiply(pattern, values, x) / 10, product / 10)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (3, 0), (1, 1), (5, 2)])
def test_a_product_without_entries_is_zero(n, m):
    pattern = kernels.make_pattern(torch.zeros(n, m).to_sparse_csr().to(torch.float32))
    pattern = kernels.Pattern(torch.zeros(n + 1, dtype=torch.int32), pattern.columns.int())
    assert torch.equal(kernels.multiply(pattern, torch.empty(0), torch.ones(m, 2, 3)), torch.zeros(n, 2, 3))


def encoder(rng, n, features, members, hidden, classes, dtype, *, kept=1.0):
    """Sparse features of which a share is kept, weights, and masks of both layers."""
    matrix, pattern, values = sparse(rng, n, features, 0.3, dtype)
    values = values * torch.from_numpy(rng.random(len(values)) < kept)
    matrix.data = values.double().numpy()
    shapes = (features, members, hidden), (members, hidden), (members, hidden, classes), (members, classes)
    weights = tuple(normal(rng, *shape, dtype=dtype) for shape in shapes)
    keys = tuple(int(key) for key in rng.integers(0, 2**63, members))
    return matrix, pattern, values, weights, (Mask(keys, 20000, 1.5), Mask(keys[::-1], 30000, 2.0))


def encode_densely(matrix, weights, masks):
    """The same in float64 by einsum; the weights' gradients can be asked for."""
    x = torch.from_numpy(matrix.toarray())
    hidden = torch.relu(torch.einsum("nf,fph->nph", x, weights[0]) + weights[1])
    hidden = hidden if masks[0] is None else hidden * noise._masked(torch.ones_like(hidden), masks[0])
    out = torch.einsum("nph,phc->npc", hidden, weights[2]) + weights[3]
    return hidden, out if masks[1] is None else out * noise._masked(torch.ones_like(out), masks[1])


ENCODERS = [(1, 64, 7), (5, 64, 4), (3, 5, 1), (2, 16, 3), (9, 33, 6), (4, 130, 2), (1, 100, 40), (2, 1, 5)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("members", "hidden", "classes"), ENCODERS)
def test_the_encoder_and_its_gradients_equal_einsum(members, hidden, classes, dtype, rng, every_thread):
    n, features = 83, 29
    matrix, pattern, values, weights, masks = encoder(rng, n, features, members, hidden, classes, dtype, kept=0.6)
    stored = csr_tensor(pattern.rows, pattern.columns[: pattern.entries], values, (n, features))
    gradient = normal(rng, n, members, classes, dtype=dtype)
    for own in ((None, None), masks):
        wide = [weight.double().requires_grad_() for weight in weights]
        kept, expected = encode_densely(matrix, wide, own)
        first = torch.autograd.grad(expected, wide[:3], gradient.double())
        kept, expected = kept.detach(), expected.detach()
        of_z = (
            gradient.double()
            if own[1] is None
            else gradient.double() * noise._masked(torch.ones(gradient.shape), own[1])
        )
        for threads in (1, 2, 3):
            with use_threads(threads):
                found, layer = kernels.encode(pattern, values, weights, gaps=threads > 1, masks=own, keep=True)
                alone, nothing = kernels.encode(pattern, values, weights, gaps=True, masks=own, keep=False)
            close(found / 10, expected / 10)
            close(layer.transpose(0, 1) / 10, kept / 10)
            assert torch.equal(alone, found)
            assert nothing is None
            for block in (7, 83, 100):
                with use_threads(threads):
                    ours = kernels.encode_gradients(
                        kernels.turn(stored, block), values, of_z.to(dtype), layer, weights[2], 1.5 if own[0] else 1.0
                    )
                for mine, theirs in zip(ours, first, strict=True):
                    close(mine / 100, theirs / 100)


def test_a_member_of_the_encoder_has_the_same_bits_alone(rng):
    _, pattern, values, weights, masks = encoder(rng, 60, 20, 6, 64, 5, torch.float32)
    together = kernels.encode(pattern, values, weights, gaps=False, masks=masks, keep=False)[0]
    for p in range(6):
        own = tuple(weight.narrow(1 if k == 0 else 0, p, 1).contiguous() for k, weight in enumerate(weights))
        keys = tuple(mask._replace(keys=mask.keys[p : p + 1]) for mask in masks)
        alone = kernels.encode(pattern, values, own, gaps=False, masks=keys, keep=False)[0]
        assert torch.equal(alone[:, 0], together[:, p])


@pytest.mark.parametrize(("n", "features"), [(0, 3), (3, 0), (4, 2)])
def test_an_encoder_without_entries_sees_its_biases_alone(n, features, rng):
    _, pattern, values = sparse(rng, n, features, 0.0, torch.float64)
    weights = tuple(normal(rng, *shape) for shape in ((features, 2, 5), (2, 5), (2, 5, 3), (2, 3)))
    found, layer = kernels.encode(pattern, values, weights, gaps=False, masks=(None, None), keep=True)
    close(layer.transpose(0, 1), weights[1].relu().expand(n, 2, 5))
    close(found, (torch.einsum("ph,phc->pc", weights[1].relu(), weights[2]) + weights[3]).expand(n, 2, 3))
    stored = csr_tensor(pattern.rows, pattern.columns[:0], values, (n, features))
    ones = torch.ones(n, 2, 3, dtype=torch.float64)
    ours = kernels.encode_gradients(kernels.turn(stored, 2), values, ones, layer, weights[2], 1.0)
    assert torch.equal(ours[0], torch.zeros(features, 2, 5, dtype=torch.float64))
    close(ours[2], layer.sum(dim=1)[..., None].expand(2, 5, 3))


def test_relu_keeps_a_nan_and_turns_minus_infinity_into_zero():
    pattern = kernels.Pattern(torch.tensor([0, 1, 2], dtype=torch.int32), torch.tensor([0, 1] + 32 * [0]).int())
    weight1 = torch.tensor([float("nan"), float("-inf")]).reshape(2, 1, 1)
    weights = weight1, torch.zeros(1, 1), torch.ones(1, 1, 1), torch.zeros(1, 1)
    found = kernels.encode(pattern, torch.ones(2), weights, gaps=False, masks=(None, None), keep=False)[0].flatten()
    assert torch.isnan(found[0])
    assert found[1] == 0


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [17, 31, 33, 48, 64, 96])
@pytest.mark.parametrize("rate", [0.0, 0.2, 0.5, 0.9, 1.0])
@pytest.mark.parametrize("turned", [False, True])
def test_a_product_without_its_zeros_has_the_same_bits(width, dtype, rate, turned, rng):
    _, pattern, values = sparse(rng, 83, 40, 0.3, dtype)
    values = values * torch.from_numpy(rng.random(len(values)) >= rate)
    order = torch.from_numpy(rng.permutation(len(values))) if turned else None
    stored = values if order is None else torch.empty_like(values).index_copy_(0, order, values)
    x = normal(rng, 40, 8, width, dtype=dtype)
    plain = kernels.multiply(pattern, values, x)
    assert torch.equal(kernels.multiply(pattern, stored, x, order=order, gaps=True), plain)
    assert torch.equal(kernels.multiply(pattern, stored, x, order=order), plain)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("first", [0, 9])
def test_dropout_is_the_same_with_and_without_the_kernel(width, dtype, first, rng):
    x = normal(rng, 11, 3, width, dtype=dtype)
    mask = Mask((0, 2**63 + 7, 41), 30000, 65536 / 35536)
    ours = kernels.drop(x, mask, first=first)
    assert torch.equal(ours, noise._masked(x, mask, first=first))
    assert 0.3 < float((ours == 0).double().mean()) < 0.65 or width < 4


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
@pytest.mark.parametrize("threads", [1, 3])
def test_flat_dropout_is_the_same_with_and_without_the_kernel(count, threads, rng, every_thread):
    x = normal(rng, count)
    mask = Mask((12345,), 30000, 2.0)
    with use_threads(threads):
        assert torch.equal(kernels.drop_flat(x, mask), noise._masked(x.view(1, 1, -1), mask).view(-1))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("hidden", "classes"), [(64, 7), (16, 1), (5, 3), (100, 20), (33, 40)])
def test_the_gradients_of_a_layer_equal_autograd(hidden, classes, dtype, rng, every_thread):
    z = normal(rng, 71, 3, hidden, dtype=dtype).requires_grad_()
    weight = normal(rng, 3, hidden, classes, dtype=dtype).requires_grad_()
    gradient = normal(rng, 71, 3, classes, dtype=dtype)
    layer = 2 * torch.relu(z)
    result = torch.einsum("nph,phc->npc", layer, weight)
    of_z, of_weight = torch.autograd.grad(result, (z, weight), gradient)
    for threads in (1, 2, 3):
        with use_threads(threads):
            ours = kernels.back(gradient, weight.detach(), layer.detach(), 2.0)
        for mine, theirs in zip(ours, (of_z, of_weight, of_z.sum(dim=0)), strict=True):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("shape", "axis"), [((5, 3, 7), 1), ((3, 40), 0), ((9, 3), 1), ((3,), 0), ((2, 0, 3), 2)])
@pytest.mark.parametrize("decoupled", [False, True])
def test_a_step_of_adam_equals_torch(shape, axis, dtype, decoupled, rng):
    members = shape[axis]
    rates, decays = rng.uniform(0.001, 0.1, members), rng.uniform(0, 0.5, members)
    start = normal(rng, *shape, dtype=dtype)
    parameter, first, second = start.clone(), torch.zeros_like(start), torch.zeros_like(start)
    kind = torch.optim.AdamW if decoupled else torch.optim.Adam
    theirs = [start.select(axis, p).clone().requires_grad_() for p in range(members)]
    optimisers = [kind([theirs[p]], lr=rates[p], weight_decay=decays[p]) for p in range(members)]
    for step in range(1, 5):
        gradient = normal(rng, *shape, dtype=dtype)
        by_member = [torch.tensor(part, dtype=dtype) for part in (rates, decays)]
        blocks = kernels.arrays(parameter, first, second, *by_member)
        kernels.adam_step(blocks, gradient, axis=axis, step=step, decoupled=decoupled)
        for p in range(members):
            theirs[p].grad = gradient.select(axis, p).clone()
            optimisers[p].step()
    close(parameter, torch.stack([part.detach() for part in theirs], dim=axis))


def test_threads_change_no_bit_of_a_product(rng, every_thread):
    _, pattern, values = sparse(rng, 300, 40, 0.2, torch.float64)
    x, mask = normal(rng, 40, 2, 9), Mask((1, 2), 30000, 2.0)
    results = []
    for threads in (3, 1):
        with use_threads(threads):
            results.append((kernels.multiply(pattern, values, x), kernels.drop(x, mask)))
    for mine, theirs in zip(*results, strict=True):
        assert torch.equal(mine, theirs)


def test_unused_numbers_behind_a_row_are_neither_read_nor_written(native, rng):
    # Every block ends where its memory ends, and the result lies between guards.
    for width in (1, 3, 5, 7, 9, 13, 21):
        _, pattern, values = sparse(rng, 6, 4, 0.9, torch.float32)
        whole = torch.full((4 * width + 64,), float("nan"))
        x = whole[: 4 * width].view(4, width).copy_(normal(rng, 4, width))
        out = torch.full((6 * width + 64,), 7.0)
        native.multiply(pattern.native, *kernels.arrays(values, x, out[: 6 * width].view(6, width)), 1)
        assert torch.isfinite(out).all()
        assert (out[6 * width :] == 7).all()
