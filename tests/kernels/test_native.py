"""What the compiled module refuses, and how it behaves with threads, forks and interrupts, or when it is missing."""

import json
import os
import subprocess
import sys

import pytest
import torch

from newtonnet import kernels
from newtonnet.kernels import Mask, Pattern, arrays, use_threads
from newtonnet.kernels.native import SETTING, native

INCOMPATIBLE = "incompatible function arguments"
"""What pybind11 says of an array of another type, or one that is not contiguous."""

built = pytest.mark.skipif(not kernels.available(), reason="the kernels were not built")


def pattern(rows=(0, 1, 3), columns=(1, 0, 1), behind=kernels.AHEAD):
    return Pattern(torch.tensor(rows).int(), torch.tensor([*columns, *[0] * behind]).int())


def ones(*shape, dtype=torch.float32):
    return torch.ones(shape, dtype=dtype)


@built
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (pattern(rows=(0, 2, 1)), "row pointers must rise"),
        (pattern(rows=(1, 1, 3)), "row pointers must rise"),
        (pattern(rows=(0, 1, 4)), "row pointers must rise"),
        (pattern(columns=(1, 0, -1)), "must not be negative"),
        (pattern(columns=(1, 0, 2)), "column index 2 needs more rows than the 2 of x"),
        (pattern(columns=(1, 0, 2**31 - 1)), "needs more rows"),
        (pattern(behind=0, columns=()), "32 indices behind"),
        (Pattern(torch.zeros(2, 2).int(), torch.zeros(32).int()), "1 dimensions"),
    ],
)
def test_a_pattern_that_reaches_outside_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        kernels.multiply(wrong, ones(3), ones(2, 1, 4))


@built
def test_a_layer_refuses_a_pattern_that_reaches_outside():
    entries = (pattern(columns=(1, 0, 2)), ones(3))
    with pytest.raises(ValueError, match="column index 2 needs more rows than the 2 of x"):
        kernels.combine(entries, ones(2, 1, 8))
    with pytest.raises(ValueError, match="column index 2 needs more rows than the 2 of x"):
        kernels.gather(entries, ones(2, 1, 8))
    with pytest.raises(ValueError, match="column index 2 needs more rows than the 2 of x"):
        kernels.graph_linear([entries], ones(2, 1, 8), ones(1, 2, 8, 4))
    with pytest.raises(ValueError, match="column index 2 needs more rows than the 2 of x"):
        kernels.graph_linear_gradients([entries], ones(2, 1, 4), ones(2, 1, 8), ones(1, 2, 8, 4))


@built
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"matrices": []}, "weight must have shape"),
        ({"matrices": [(pattern(rows=(0, 1, 2, 3)), ones(3))]}, "the matrix must have 2 rows"),
        ({"matrices": [(pattern(), ones(2))]}, "values must have shape"),
        ({"matrices": [(pattern(), ones(3, dtype=torch.float64))]}, INCOMPATIBLE),
        ({"weight": ones(1, 2, 7, 4)}, "weight must have shape"),
        ({"weight": ones(1, 2, 4, 8).transpose(2, 3)}, INCOMPATIBLE),
        ({"x": ones(8, 1, 2).transpose(0, 2)}, INCOMPATIBLE),
        ({"x": ones(2, 8)}, None),
        ({"lines": (ones(1, 4), ones(1, 3))}, "shift must have shape"),
        ({"mask": Mask((1,), 9, 2.0)}, "a mask must be given with scale and shift"),
        ({"lines": (ones(1, 4), ones(1, 4)), "mask": Mask((1, 2), 9, 2.0)}, "one key for each of 1 members"),
    ],
)
def test_a_linear_layer_of_wrong_arrays_is_refused(changed, message):
    given = {"matrices": [(pattern(), ones(3))], "x": ones(2, 1, 8), "weight": ones(1, 2, 8, 4)}
    kernels.graph_linear(**given)
    with pytest.raises((ValueError, TypeError), match=message):
        kernels.graph_linear(**(given | changed))


@built
@pytest.mark.parametrize("changed", [{"gradient": ones(2, 1, 3)}, {"gradient": ones(3, 1, 4)}, {"x": ones(2, 2, 8)}])
def test_gradients_of_a_linear_layer_of_wrong_arrays_are_refused(changed):
    given = {"gradient": ones(2, 1, 4), "x": ones(2, 1, 8), "weight": ones(1, 2, 8, 4)}
    kernels.graph_linear_gradients([(pattern(), ones(3))], **given)
    with pytest.raises(ValueError, match="must have shape"):
        kernels.graph_linear_gradients([(pattern(), ones(3))], **(given | changed))


@built
def test_a_linear_layer_without_columns_has_no_gradient():
    torch.full((4, 1, 8), 7.0)  # leaves memory that is not 0
    of_x, _ = kernels.graph_linear_gradients([], ones(4, 1, 0), ones(4, 1, 8), ones(1, 1, 8, 0))
    assert of_x.eq(0).all()


@built
def test_sums_over_no_rows_are_zero():
    none = ones(0, 1, 4)
    assert kernels.graph_linear([], none, ones(1, 1, 4, 3), moments=True)[1].eq(0).all()
    assert kernels.graph_linear_gradients([], ones(0, 1, 3), none, ones(1, 1, 4, 3))[1].eq(0).all()
    assert kernels.combine(None, none, moments=True)[1].eq(0).all()
    assert kernels.activation_sums(none, none, None, 1.0, None).eq(0).all()
    assert kernels.row_norm_gradients(none, none, none, ones(1, 4), 1.0, 1e-5, halves=False)[1].eq(0).all()


@built
def test_row_pointers_with_gaps_are_refused():
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        native().Csr(*arrays(torch.zeros(4).int()[::2], torch.zeros(32).int()))


@built
def test_a_pattern_without_row_pointers_is_refused():
    with pytest.raises(ValueError, match="needs a row pointer"):
        native().Csr(*arrays(torch.empty(0).int(), torch.zeros(32).int()))


@built
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"values": ones(2)}, ValueError, r"values must have shape \(3\), got \(2\)"),
        ({"values": ones(3, dtype=torch.float64)}, TypeError, INCOMPATIBLE),
        ({"values": [1.0, 2.0, 3.0]}, TypeError, "work on torch tensors"),
        ({"values": None}, TypeError, "NoneType"),
        ({"x": ones(2, 4)}, ValueError, "not enough values"),
        ({"x": ones(2, 1, 8)[:, :, ::2]}, TypeError, INCOMPATIBLE),
        ({"x": ones(2, 1, 4).int(), "values": ones(3).int()}, TypeError, INCOMPATIBLE),
        ({"x": ones(2, 1, 4).to("meta")}, TypeError, "meta"),
        ({"order": torch.tensor([0, 1, 3])}, ValueError, "order must hold places from 0 to 2"),
        ({"order": torch.tensor([0, 1, -1])}, ValueError, "order must hold places from 0 to 2"),
        ({"order": torch.tensor([0, 1, 3]), "gaps": True, "x": ones(2, 1, 256)}, ValueError, "order must hold"),
        ({"order": torch.tensor([0, 1, 2]).int()}, TypeError, "order must be of type torch.int64"),
    ],
)
def test_a_product_of_wrong_arrays_is_refused(options, error, message):
    arguments = {"values": ones(3), "x": ones(2, 1, 4), **options}
    with pytest.raises(error, match=message):
        kernels.multiply(pattern(), **arguments)


WEIGHTS = (ones(2, 3, 4), ones(3, 4), ones(3, 4, 5), ones(3, 5))


def changed(k, weight):
    return {"weights": (*WEIGHTS[:k], weight, *WEIGHTS[k + 1 :])}


@built
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pattern": pattern(columns=(1, 0, 2))}, ValueError, "column index 2 needs more rows than the 2 of x"),
        ({"values": ones(2)}, ValueError, r"values must have shape \(3\), got \(2\)"),
        ({"values": ones(3, dtype=torch.float64)}, TypeError, INCOMPATIBLE),
        (changed(1, ones(4)), ValueError, r"first bias must have shape \(3, 4\), got \(4\)"),
        (changed(2, ones(3, 5, 4)), ValueError, r"second weight must have shape \(3, 4, 5\)"),
        (changed(3, ones(2, 5)), ValueError, r"second bias must have shape \(3, 5\)"),
        (changed(2, ones(3, 5, 4).mT), TypeError, INCOMPATIBLE),
        (
            {"weights": (ones(2, 3, 0), ones(3, 0), ones(3, 0, 5), ones(3, 5))},
            ValueError,
            "a layer must have one number or more, got 0 and 5",
        ),
        (
            {"weights": (*WEIGHTS[:2], ones(3, 4, 0), ones(3, 0))},
            ValueError,
            "a layer must have one number or more, got 4 and 0",
        ),
        ({"masks": (Mask((1, 2), 5, 1.0), None)}, ValueError, "one key for each of 3 members, got 2"),
        ({"masks": (None, Mask((1,), 5, 1.0))}, ValueError, "one key for each of 3 members, got 1"),
        ({"masks": (Mask((1, 2, 3), 65536, 1.0), None)}, TypeError, INCOMPATIBLE),
    ],
)
def test_an_encoder_of_wrong_arrays_is_refused(options, error, message):
    arguments = {"pattern": pattern(), "values": ones(3), "weights": WEIGHTS, "masks": (None, None), **options}
    with pytest.raises(error, match=message):
        kernels.encode(**arguments, gaps=True, keep=True)


def turned(columns=(0, 1, 1), order=(0, 1, 2), block=1, rows=(0, 1, 1, 2, 3)):
    return kernels.Turned(pattern(rows=rows, columns=columns), torch.tensor(order), block, (2, 2))


@built
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"turned": turned(columns=(0, 0, 1))}, ValueError, "every entry must lie in its block of 1 rows"),
        ({"turned": turned(columns=(0, 1, 2))}, ValueError, "column index 2 needs more rows than the 2 of x"),
        ({"turned": turned(order=(0, 1, 3))}, ValueError, "order must hold every place from 0 to 2 once"),
        ({"turned": turned(order=(0, 1, 1))}, ValueError, "order must hold every place from 0 to 2 once"),
        ({"turned": turned(rows=(0, 1, 3))}, ValueError, "transpose must have 4 rows, got 2"),
        ({"values": ones(2)}, ValueError, r"values must have shape \(3\), got \(2\)"),
        ({"gradient": ones(3, 3, 5)}, ValueError, r"gradient must have shape \(2, 3, 5\)"),
        ({"hidden": ones(3, 1, 4)}, ValueError, "hidden must have 2 rows, got 1"),
        (
            {"turned": turned(block=2, rows=(0, 2, 3)), "hidden": ones(3, 1, 4), "gradient": ones(1, 3, 5)},
            ValueError,
            "hidden must have 2 rows, got 1",
        ),
        ({"hidden": ones(3, 2, 4, dtype=torch.float64)}, TypeError, INCOMPATIBLE),
        ({"weight2": ones(3, 5, 4)}, ValueError, r"second weight must have shape \(3, 4, 5\)"),
    ],
)
def test_gradients_of_an_encoder_of_wrong_arrays_are_refused(options, error, message):
    arguments = {"turned": turned(), "values": ones(3), "gradient": ones(2, 3, 5), "hidden": ones(3, 2, 4)}
    with pytest.raises(error, match=message):
        kernels.encode_gradients(**{**arguments, "weight2": ones(3, 4, 5), "scale": 1.0, **options})


def operator(**changed):
    parts = {
        "rows": torch.tensor([0, 1, 2]).int(),
        "columns": torch.tensor([1, 0, *[0] * kernels.AHEAD]).int(),
        "order": torch.tensor([1, 0]).int(),
        "values": None,
        "scale": ones(2),
        **changed,
    }
    return kernels.make_operator(*parts.values())


@built
@pytest.mark.parametrize(
    ("changed", "error", "message"),
    [
        ({"order": torch.tensor([0, 0]).int()}, ValueError, "every number from 0 to 1 once"),
        ({"order": torch.tensor([0, 2]).int()}, ValueError, "every number from 0 to 1 once"),
        ({"order": torch.tensor([0, 1])}, TypeError, INCOMPATIBLE),
        ({"order": torch.tensor([0]).int()}, ValueError, r"order must have shape \(2\)"),
        ({"columns": torch.tensor([1, 2, *[0] * 32]).int()}, ValueError, "column index 2"),
        ({"values": ones(3)}, ValueError, r"values must have shape \(2\)"),
        ({"values": ones(2).double()}, TypeError, INCOMPATIBLE),
        ({"scale": ones(3)}, ValueError, r"scale must have shape \(2\)"),
    ],
)
def test_an_operator_of_wrong_arrays_is_refused(changed, error, message):
    with pytest.raises(error, match=message):
        operator(**changed)


@built
@pytest.mark.parametrize(
    ("x", "coefficients", "against", "error"),
    [
        (ones(3, 4), ones(2, 4), None, ValueError),
        (ones(2, 4), ones(2, 3), None, ValueError),
        (ones(2, 4), ones(0, 4), None, ValueError),
        (ones(2, 4), ones(2, 4), ones(2, 3), ValueError),
        (ones(2, 4), ones(2, 4).double(), None, TypeError),
        (ones(2, 4).double(), ones(2, 4).double(), None, TypeError),
        (ones(4, 2).T, ones(2, 4), None, TypeError),
    ],
)
def test_a_series_of_wrong_arrays_is_refused(x, coefficients, against, error):
    with pytest.raises(error):
        kernels.series(operator(), 2, x, coefficients, against)


@built
@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: kernels.drop(ones(2, 2, 3), Mask((1,), 5, 1.0)), ValueError),
        (lambda: kernels.drop(ones(2, 2, 3), None), TypeError),
        (lambda: native().drop(*arrays(ones(2, 6), ones(2, 6)), Mask((1,), 5, 1.0), 0, 1), ValueError),
        (
            lambda: kernels.series(pattern().native, 3, ones(2, 4), ones(2, 4), None),
            TypeError,
        ),
        (lambda: kernels.drop_flat(ones(2, 6).int(), Mask((1,), 5, 1.0)), TypeError),
        (lambda: kernels.back(ones(5, 1, 2), ones(1, 4, 3), ones(5, 1, 4), 1.0), ValueError),
        (lambda: kernels.back(ones(4, 1, 2), ones(1, 4, 2), ones(5, 1, 4), 1.0), ValueError),
    ],
)
def test_dense_blocks_that_do_not_fit_are_refused(call, error):
    with pytest.raises(error):
        call()


@built
@pytest.mark.parametrize(
    "changed",
    [
        {"gradient": ones(3, 4)},
        {"first": ones(4, 3)},
        {"second": ones(3, 5).double()},
        {"rates": ones(4)},
        {"decays": ones(3).double()},
        {"axis": 2},
        {"axis": -1},
        {"step": 0},
    ],
)
def test_a_step_of_adam_with_wrong_arrays_is_refused(changed):
    blocks = {name: ones(3, 5) for name in ("parameter", "first", "second")} | {"rates": ones(3), "decays": ones(3)}
    rest = {"gradient": ones(3, 5), "axis": 0, "step": 1, "decoupled": False}
    blocks, rest = ({name: changed.get(name, part) for name, part in parts.items()} for parts in (blocks, rest))
    with pytest.raises((TypeError, ValueError), match=f"must|{INCOMPATIBLE}"):
        kernels.adam_step(arrays(*blocks.values()), **rest)


def test_threads_are_restored():
    before = torch.get_num_threads(), kernels.thread_count()
    with use_threads(5, torch_count=1):
        assert (torch.get_num_threads(), kernels.thread_count()) == (1, 5)
    with use_threads(None):
        assert (torch.get_num_threads(), kernels.thread_count()) == before
    with pytest.raises(ValueError, match="at least 1"), use_threads(0):
        pass


GRAPH = """
import os, signal, sys, threading, time
import numpy as np, torch
from newtonnet import kernels
from newtonnet.graphs import from_edges, normalised_operator, propagate
from newtonnet.kernels import threads, use_threads

threads.WORTH_A_THREAD = 0
rng = np.random.default_rng(0)
operator = normalised_operator(from_edges(rng.integers(0, 3000, (2, 20000)), np.ones((3000, 1))))
x, c = torch.tensor(rng.standard_normal((3000, 1, 40)), dtype=torch.float32), torch.ones(6, 1)
expected = propagate(operator, x, c)
"""
FORKED = """
stop = False
def work():
    with use_threads(3, torch_count=1):
        while not stop:
            propagate(operator, x, c)
busy = [threading.Thread(target=work, daemon=True) for _ in range(2)]
for one in busy:
    one.start()
for _ in range(4):
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        with use_threads(3, torch_count=1):
            os._exit(0 if torch.equal(propagate(operator, x, c), expected) else 1)
    assert os.waitpid(child, 0)[1] == 0
stop = True
for one in busy:
    one.join()
print("done")
"""
INTERRUPTED = """
many = torch.ones(100, 1) / 100
threading.Timer(0.05, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
start = time.monotonic()
caught = 0
with use_threads(3, torch_count=1):
    try:
        while time.monotonic() - start < 20:
            propagate(operator, x, many)
    except KeyboardInterrupt:
        caught = 1
    assert torch.equal(propagate(operator, x, c), expected)
print("caught", caught)
"""
STARVED = """
import resource
soft, hard = resource.getrlimit(resource.RLIMIT_AS)
resource.setrlimit(resource.RLIMIT_AS, (int(open("/proc/self/statm").read().split()[0]) * 4096 + (100 << 20), hard))
with use_threads(500, torch_count=1):
    assert torch.equal(propagate(operator, x, c), expected)
print("done", threading.active_count())
"""
TRAIN = (
    GRAPH
    + "print(operator.describe()); propagate(normalised_operator(from_edges([[0], [1]], np.ones((2, 1)))), x[:2], c)"
)
MISSING = (
    "import sys; sys.modules.update({f'newtonnet.kernels._native_{n}': None for n in ('baseline', 'avx2', 'avx512')})\n"
    + TRAIN
)
PROGRAMS = {
    "forked": (GRAPH + FORKED, {}),
    "interrupted": (GRAPH + INTERRUPTED, {}),
    "starved": (GRAPH + STARVED, {}),
    "off": (TRAIN, {SETTING: "off"}),
    "unknown": (TRAIN, {SETTING: "on"}),
    "missing": (MISSING, {SETTING: ""}),
    "required": (MISSING, {SETTING: "require"}),
}
STARTER = """
import json, os, signal, sys, traceback
import newtonnet.graphs, newtonnet.kernels

assert not any("._native_" in name for name in sys.modules)
codes = {}
for name, (program, environment) in json.loads(sys.argv[1]).items():
    child = os.fork()
    if child == 0:
        for descriptor, ending in ((1, "out"), (2, "errors")):
            os.dup2(os.open(f"{sys.argv[2]}/{name}.{ending}", os.O_WRONLY | os.O_CREAT, 0o600), descriptor)
        os.environ.update(environment)
        signal.alarm(60)  # one that hangs ends alone
        code = 1
        try:
            exec(program, {})
            code = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    codes[name] = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
print(json.dumps(codes))
"""
"""Loads torch once; every program then has a fork of its own, in which no kernel was loaded before."""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    """Standard output, standard error and exit code of each program."""
    if not hasattr(os, "fork"):
        pytest.skip("programs are forked")
    folder = tmp_path_factory.mktemp("programs")
    command = [sys.executable, "-c", STARTER, json.dumps(PROGRAMS), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    texts = {path.name: path.read_text() for path in folder.iterdir()}
    return {
        name: (texts[f"{name}.out"].strip(), texts[f"{name}.errors"], code)
        for name, code in json.loads(done.stdout).items()
    }


@built
def test_a_forked_process_starts_threads_of_its_own_while_others_are_busy(ran):
    assert ran["forked"][::2] == ("done", 0)


@built
def test_an_interrupt_waits_for_the_kernel_and_leaves_it_usable(ran):
    assert ran["interrupted"][::2] == ("caught 1", 0)


@built
def test_where_no_thread_can_be_started_fewer_do_the_work(ran):
    assert ran["starved"][::2] == ("done 1", 0)


@built
def test_the_setting_off_leaves_all_work_to_torch_and_says_nothing(ran):
    assert ran["off"] == ("vendor kernel (torch's sparse product)", "", 0)


def test_an_unknown_setting_is_refused(ran):
    _, errors, code = ran["unknown"]
    assert code == 1
    assert "ValueError: NEWTONNET_KERNELS must be off, require or not set, got 'on'" in errors


def test_missing_kernels_are_announced_once(ran):
    out, errors, code = ran["missing"]
    assert (out, code) == ("vendor kernel (torch's sparse product)", 0)
    assert errors.count("torch does the same work") == 1
    assert len(errors.strip().splitlines()) == 1


def test_missing_kernels_that_are_required_are_an_error(ran):
    _, errors, code = ran["required"]
    assert code == 1
    assert "ImportError: the compiled kernels of newtonnet cannot be loaded" in errors
    assert "NEWTONNET_KERNELS=require asks for them" in errors


@built
def test_none_where_a_tensor_must_be_is_refused():
    with pytest.raises(TypeError, match=INCOMPATIBLE):
        native().drop(None, None, None, 0, 1)
