import pyarrow as pa
import pytest

from newtonnet.tables.column_words import doubts, read_as, strangers
from newtonnet.tables.encoding import learn_encoding

MANY = 600


def doubts_about(values, categorical=()):
    table = pa.table({"x": values})
    return doubts(table, learn_encoding(table, categorical=categorical), categorical)


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
        ([f"{i},71" for i in range(MANY)], "such as '0,71': numbers need a decimal point"),
        ([*(str(i % 50) for i in range(MANY)), "unknown"], "because of the text 'unknown': leave such cells blank"),
        ([*(str(i % 50) for i in range(MANY)), "n.a.", "?"], "because of the texts '?', 'n.a.': leave such cells"),
        ([f"Person {i}" for i in range(MANY)], "looks like a name: leave it out with --ignore x"),
    ],
)
def test_a_text_column_that_should_not_be_categories_is_doubted(values, words):
    (text,) = doubts_about(values)
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
def test_ordinary_columns_are_not_doubted(values):
    assert doubts_about(values) == []


@pytest.mark.parametrize(
    ("value", "advice"), [("{}%", "numbers stand alone"), ("€ {}", "numbers stand alone"), ("{}.05.2020", "2020-01-31")]
)
def test_numbers_with_a_sign_and_other_dates_are_doubted(value, advice):
    (found,) = doubts_about([value.format(1 + i % 28) for i in range(MANY)])
    assert advice in found


def test_what_was_asked_for_is_not_doubted():
    assert doubts_about([*(str(i % 50) for i in range(MANY)), "unknown"], categorical=["x"]) == []


def test_values_never_seen_and_columns_never_fitted_are_told():
    table = pa.table({"city": ["a", "b", "a"], "age": [1.0, 2.0, 4.0]})
    other = pa.table({"city": ["c", "d", None], "age": [1.0, 1.0, 1.0], "new": [1, 2, 3]})
    found = strangers(other, learn_encoding(table))
    assert found == ["city: 2 values never seen in fitting count as none", "not used by the model: new"]
    assert strangers(table, learn_encoding(table)) == []


def test_values_beside_zeros_and_ones_are_told():
    table = pa.table({"smokes": [0, 1, 1]})
    other = pa.table({"smokes": [0, 57, None]})
    found = strangers(other, learn_encoding(table))
    assert found[0] == "smokes: other than 0 and 1 in 1 of the rows"
    assert "taken for 0" in found[1]


def test_too_many_texts_are_refused_with_the_reason_they_are_texts():
    table = pa.table({"x": [f"{i},5" for i in range(1500)]})
    with pytest.raises(ValueError, match="such as '0,5': numbers need a decimal point"):
        learn_encoding(table)
