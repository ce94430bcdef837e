import datetime

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from newtonnet.tables.encoding import MOST_CATEGORIES, encode, learn_encoding


def dense(table, **options):
    encoding = learn_encoding(table, **options)
    features = encode(table, encoding)
    return encoding.feature_names, features.toarray() if sp.issparse(features) else features


def test_numbers_have_mean_zero_and_deviation_one(rng):
    _, x = dense(pa.table({"a": rng.normal(5, 3, 1000), "b": rng.integers(0, 9, 1000)}))
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-6)
    np.testing.assert_allclose(x.std(axis=0), 1, atol=1e-6)


def test_numbers_can_be_kept_as_they_are():
    names, x = dense(pa.table({"a": [1.0, None, 5.0]}), standardise=False)
    assert names == ("a", "a missing")
    assert x.tolist() == [[1, 0], [0, 1], [5, 0]]


@pytest.mark.parametrize("values", [[0, 1, 1], [True, False, True], [0.0, 1.0, 0.0]])
def test_zeros_and_ones_are_kept(values):
    _, x = dense(pa.table({"a": values}))
    assert x[:, 0].tolist() == [float(value) for value in values]


@pytest.mark.parametrize("column", [[3, 3, 3], ["x", "x", "x"], [None, None, None], [1, 1, 1], ["", "NA", None]])
def test_a_column_that_tells_nothing_is_left_out(column):
    names, _ = dense(pa.table({"idle": column, "x": [1, 2, 4]}))
    assert names == ("x",)


def test_numbers_can_be_codes_of_categories():
    names, x = dense(pa.table({"zip": [10115, 20095, 10115]}), categorical=["zip"])
    assert names == ("zip=10115", "zip=20095")
    assert x.tolist() == [[1, 0], [0, 1], [1, 0]]


def test_moments_are_counted_in_days():
    first = datetime.datetime(2020, 1, 1)
    table = pa.table({"when": [first, first + datetime.timedelta(days=2), first + datetime.timedelta(days=4)]})
    (column,) = learn_encoding(table).columns
    assert column.scale == pytest.approx(np.std([0, 2, 4]))


def test_dates_and_moments_of_the_same_day_agree():
    days = [datetime.date(2020, 1, d) for d in (1, 2, 9)]
    moments = [datetime.datetime(2020, 1, d) for d in (1, 2, 9)]
    _, a = dense(pa.table({"when": days}))
    _, b = dense(pa.table({"when": moments}))
    np.testing.assert_allclose(a, b, rtol=1e-6)


def test_lists_of_numbers_are_features():
    names, x = dense(pa.table({"v": [[1.0, 2.0], [3.0, 4.0]]}))
    assert names == ("v[0]", "v[1]")
    assert x.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.int32()), pa.large_list(pa.float32()), pa.list_(pa.float64(), 2)], ids=str
)
def test_lists_of_any_kind_are_features(kind):
    names, x = dense(pa.table({"v": pa.array([[1, 2], [3, 4]], kind)}))
    assert names == ("v[0]", "v[1]")
    assert x.tolist() == [[1, 2], [3, 4]]


def test_lists_of_other_lengths_than_learned_name_the_row():
    encoding = learn_encoding(pa.table({"v": [[1.0, 2.0], [3.0, 4.0]]}))
    for rows in ([[1.0, 2.0], [1.0], [1.0, 2.0, 3.0]], [[1.0, 2.0], None, [3.0, 4.0]]):
        with pytest.raises(ValueError, match="row 2 must hold 2 numbers in 'v'"):
            encode(pa.table({"v": rows}), encoding)
    with pytest.raises(ValueError, match="'v' must hold lists of 2 numbers, got double"):
        encode(pa.table({"v": [1.0, 2.0]}), encoding)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_moments_finer_than_a_millisecond_are_counted_too(unit):
    day = {"us": 86_400 * 10**6, "ns": 86_400 * 10**9}[unit]
    _, x = dense(pa.table({"when": pa.array([1, day + 1, 3 * day + 1], pa.timestamp(unit))}), standardise=False)
    np.testing.assert_allclose(x[:, 0], [0, 1, 3], atol=1e-6)


def test_a_kind_of_time_that_is_no_number_is_refused():
    spans = pa.array([(1, 2, 3), (4, 5, 6)], pa.month_day_nano_interval())
    with pytest.raises(ValueError, match="column 'span' holds month_day_nano_interval, which cannot become numbers"):
        learn_encoding(pa.table({"span": spans}))


@pytest.mark.parametrize(
    "gaps", [pa.nulls(3), pa.nulls(3, pa.string()), pa.nulls(3, pa.float64())], ids=lambda g: str(g.type)
)
def test_a_learned_number_without_any_value_is_missing(gaps):
    encoding = learn_encoding(pa.table({"a": [1.0, None, 5.0]}))
    assert encode(pa.table({"a": gaps}), encoding).tolist() == [[0, 1]] * 3


def test_lists_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="'v' holds lists of different lengths"):
        learn_encoding(pa.table({"v": [[1.0, 2.0], [3.0]]}))


def test_free_text_is_refused_with_a_way_out():
    table = pa.table({"bio": [f"I am number {i}" for i in range(MOST_CATEGORIES + 1)]})
    with pytest.raises(
        ValueError, match=r"'bio' has 1001 different texts.*\(--ignore bio, or ignore=\['bio'\] in Python\)"
    ):
        learn_encoding(table)


def test_many_categories_stay_sparse(rng):
    table = pa.table({f"c{k}": pa.array(rng.integers(0, 900, 2000)).cast(pa.string()) for k in range(3)})
    features = encode(table, learn_encoding(table))
    assert sp.issparse(features)
    assert features.nnz == 6000


def test_a_column_that_is_gone_is_named():
    encoding = learn_encoding(pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}))
    with pytest.raises(ValueError, match="no column 'b'; found: a"):
        encode(pa.table({"a": [1, 2, 3]}), encoding)


def test_text_where_numbers_were_is_refused():
    encoding = learn_encoding(pa.table({"a": [1, 2, 3]}))
    with pytest.raises(ValueError, match="row 1 holds 'one' in column 'a', which must hold numbers"):
        encode(pa.table({"a": ["one", "two", "three"]}), encoding)


def test_one_number_and_gaps_are_not_scaled_by_rounding():
    table = pa.table({"x": [0.1] * 3 + [None] * 3})
    encoding = learn_encoding(table)
    assert encoding.columns[0].scale == 1
    np.testing.assert_array_equal(encode(table, encoding)[:, 0], 0)
    np.testing.assert_allclose(encode(pa.table({"x": [0.2]}), encoding)[0, 0], 0.1, rtol=1e-6)


def test_dates_are_refused_where_there_were_zeros_and_ones():
    encoding = learn_encoding(pa.table({"x": [0, 1, 1]}))
    with pytest.raises(ValueError, match="held numbers when the model was fitted"):
        encode(pa.table({"x": [datetime.date(2020, 1, 1)]}), encoding)
