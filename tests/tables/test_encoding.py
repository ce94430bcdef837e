import datetime

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp

from newtonnet.tables.encoding import (
    MOST_CATEGORIES,
    column_warnings,
    encode,
    learn_encoding,
    read_as,
    unseen_values,
)

MANY = 600


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


def test_free_text_is_no_feature_unless_asked_for():
    table = pa.table({"bio": [f"I am number {i}" for i in range(MOST_CATEGORIES + 1)]})
    assert learn_encoding(table).columns == ()
    assert len(learn_encoding(table, categorical=["bio"]).columns[0].categories) == MOST_CATEGORIES


def test_many_categories_stay_sparse(rng):
    table = pa.table({f"c{k}": pa.array(rng.integers(0, 900, 2000)).cast(pa.string()) for k in range(3)})
    features = encode(table, learn_encoding(table))
    assert sp.issparse(features)
    assert features.nnz == 6000


def test_a_column_that_is_gone_is_named():
    encoding = learn_encoding(pa.table({"a": [1, 2, 3], "b": [1, 2, 3]}))
    with pytest.raises(ValueError, match="no column 'b', but the model was fitted with it; found: a"):
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
    with pytest.raises(ValueError, match="held numbers during fitting"):
        encode(pa.table({"x": [datetime.date(2020, 1, 1)]}), encoding)


def warnings_about(values, categorical=()):
    table = pa.table({"x": values})
    return column_warnings(table, learn_encoding(table, categorical=categorical), categorical)


def test_every_column_is_named_with_what_it_was_taken_for():
    table = pa.table(
        {
            "age": [1.0, 2.0, 5.0, 7.0],
            "pay": [1.5, None, 2.5, 3.5],
            "flag": [0, 1, 0, 1],
            "city": ["a", "b", "c", "c"],
            "v": [[1.0, 2.0]] * 4,
            "same": [1, 1, 1, 1],
        }
    )
    text = read_as(table, learn_encoding(table), {"same": "one value only", "bio": "ignored"})
    assert text == (
        "numbers: age, pay (25% missing); 0/1: flag; categories: city (3); lists of numbers: v (2); "
        "left out: same (one value only), bio (ignored)"
    )


def test_many_columns_are_cut_after_ten():
    table = pa.table({f"x{i}": [1.0, 2.5] for i in range(12)})
    assert read_as(table, learn_encoding(table), {}).endswith("x8, x9 and 2 more")


def test_without_columns_every_node_has_a_feature_of_its_own():
    table = pa.table({"same": [1, 1]})
    assert read_as(table, learn_encoding(table), {}) == "no features: every node gets one of its own"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ([f"{i},71" for i in range(MANY)], "such as '0,71': write numbers with a decimal point"),
        ([*(str(i % 50) for i in range(MANY)), "unknown"], "because of the text 'unknown': leave such cells blank"),
        ([*(str(i % 50) for i in range(MANY)), "n.a.", "?"], "because of the texts '?', 'n.a.': leave such cells"),
        ([f"Person {i}" for i in range(MANY)], "looks like a name: leave it out with --ignore x"),
    ],
)
def test_a_text_column_that_should_not_be_categories_is_warned_about(values, words):
    (text,) = warnings_about(values)
    assert words in text
    assert text.startswith("Column 'x' was read as ")


@pytest.mark.parametrize(
    "values",
    [
        ["red", "green", "blue"] * 20,
        [*["A1", "B2"] * 30, *map(str, range(40))],
        ["ann", "bob", "cy"],
        [float(i) for i in range(MANY)],
    ],
)
def test_ordinary_columns_are_not_warned_about(values):
    assert warnings_about(values) == []


@pytest.mark.parametrize(
    ("value", "advice"),
    [("{}%", "numbers without a unit"), ("€ {}", "numbers without a unit"), ("{}.05.2020", "2020-01-31")],
)
def test_numbers_with_a_sign_and_other_dates_are_warned_about(value, advice):
    (found,) = warnings_about([value.format(1 + i % 28) for i in range(MANY)])
    assert advice in found


def test_what_was_asked_for_is_not_warned_about():
    assert warnings_about([*(str(i % 50) for i in range(MANY)), "unknown"], categorical=["x"]) == []


def test_values_never_seen_and_columns_never_fitted_are_reported():
    table = pa.table({"city": ["a", "b", "a"], "age": [1.0, 2.0, 4.0]})
    other = pa.table({"city": ["c", "d", None], "age": [1.0, 1.0, 1.0], "new": [1, 2, 3]})
    found = unseen_values(other, learn_encoding(table))
    assert found == ["city: 2 unseen values; encoded as no category", "not used by the model: new"]
    assert unseen_values(table, learn_encoding(table)) == []


def test_values_beside_zeros_and_ones_are_reported():
    table = pa.table({"smokes": [0, 1, 1]})
    other = pa.table({"smokes": [0, 57, None]})
    found = unseen_values(other, learn_encoding(table))
    assert found[0] == "smokes: 1 value other than 0 and 1"
    assert found[1] == "smokes: 1 missing value, none seen during fitting; filled with 0"


def test_too_many_texts_are_refused_with_the_reason_they_are_texts():
    table = pa.table({"x": [f"{i},5" for i in range(1500)]})
    with pytest.raises(ValueError, match="such as '0,5': write numbers with a decimal point"):
        learn_encoding(table)


def test_a_later_table_without_gaps_is_not_said_to_have_any():
    encoding = learn_encoding(pa.table({"age": [1.0, None, 3.0]}))
    assert read_as(pa.table({"age": [1.0, None, 3.0]}), encoding, {}) == "numbers: age (33% missing)"
    assert read_as(pa.table({"age": [1.0, 2.0, 3.0]}), encoding, {}) == "numbers: age"
