import json
from dataclasses import replace

import pytest

from newtonnet_paper.claim import (
    CLAIMS,
    Claim,
    Request,
    Unit,
    all_claims,
    append_line,
    find_claim,
    lines_path,
    load_lines,
    pending,
    read_lines,
    run,
)
from newtonnet_paper.exhibit import Finding, Report


def squares(calls, *, version=1):
    """A claim of three units that notes every call."""

    def unit(x):
        return Unit({"x": x}, lambda: calls.append(x) or {"square": x * x})

    return Claim(
        name="squares",
        statement="Squares grow.",
        place="nowhere",
        units=lambda request: [unit(x) for x in request.options.get("nodes", [1, 2, 3])],
        summarise=lambda lines: Report(
            (Finding("sum", str(sum(line["square"] for line in lines)), "14", "holds"),),
        ),
        options=frozenset({"nodes"}),
        version=version,
    )


def test_work_that_is_stored_is_never_done_again(tmp_path):
    calls = []
    claim = squares(calls)
    assert run(claim, Request(), tmp_path) == 0
    assert run(claim, Request(), tmp_path) == 0
    assert run(claim, Request("quick", {"nodes": [3, 4]}), tmp_path) == 0
    assert calls == [1, 2, 3, 4]
    assert [line["square"] for line in load_lines(claim, tmp_path)] == [1, 4, 9, 16]


def test_a_second_process_does_not_do_the_same_work_beside_the_first(tmp_path):
    claim = squares([])
    second = replace(claim, units=lambda _: [Unit({"x": 1}, lambda: run(claim, Request(), tmp_path))])
    with pytest.raises(ValueError, match="another process is running squares"):
        run(second, Request(), tmp_path)
    assert run(claim, Request(), tmp_path) == 0  # the lock went with the error


def test_a_line_that_was_cut_off_is_done_again_and_leaves_no_trace(tmp_path):
    calls = []
    claim = squares(calls)
    run(claim, Request(), tmp_path)
    path = lines_path(claim, tmp_path)
    whole = path.read_text().splitlines()
    for cut in (1, len(whole[2]) // 2, len(whole[2]) - 1):
        path.write_text("\n".join(whole[:2]) + "\n" + whole[2][:cut])
        calls.clear()
        assert run(claim, Request(), tmp_path) == 0
        assert calls == [3]
        again = [json.loads(line) for line in path.read_text().splitlines()]
        assert [line["square"] for line in again] == [1, 4, 9]


def test_a_whole_last_line_without_its_line_feed_is_kept(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}')
    assert read_lines(path) == [{"a": 1}]
    append_line(path, {"a": 2})
    assert path.read_text() == '{"a": 1}\n{"a": 2}\n'


def test_a_broken_line_in_the_middle_is_named(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"a": 1}\nnonsense\n{"a": 2}\n')
    with pytest.raises(ValueError, match="line 2 is not a JSON object"):
        read_lines(path)


def test_a_line_without_the_key_of_its_work_is_named(tmp_path):
    claim = squares([])
    append_line(lines_path(claim, tmp_path), {"version": claim.version, "square": 1})
    with pytest.raises(ValueError, match=r"lines.jsonl has a line without the key of its unit"):
        load_lines(claim, tmp_path)


def test_an_interrupted_run_keeps_what_is_finished(tmp_path):
    calls = []
    claim = squares(calls)
    units = claim.units(Request())

    def stop():
        raise KeyboardInterrupt

    broken = Claim(**{**vars(claim), "units": lambda request: [units[0], Unit({"x": 2}, stop)]})
    with pytest.raises(KeyboardInterrupt):
        run(broken, Request(), tmp_path)
    assert [line["key"] for line in load_lines(claim, tmp_path)] == [{"x": 1}]
    assert len(pending(claim, Request(), tmp_path)[0]) == 2


def test_time_that_is_up_begins_nothing_new(tmp_path):
    calls = []
    assert run(squares(calls), Request(), tmp_path, seconds=0) == 3
    assert calls == []


def test_lines_of_another_version_are_left_aside(tmp_path):
    calls = []
    run(squares(calls), Request(), tmp_path)
    assert load_lines(squares(calls, version=2), tmp_path) == []
    assert len(pending(squares(calls, version=2), Request(), tmp_path)[0]) == 3


def test_a_claim_may_rest_on_the_results_of_others(tmp_path):
    claim = Claim(**{**vars(squares([])), "load": lambda results: read_lines(results / "search.jsonl")})
    append_line(tmp_path / "search.jsonl", {"square": 5})
    assert run(claim, Request("quick", {"nodes": [1]}), tmp_path) == 0
    assert claim.summarise(load_lines(claim, tmp_path)).findings[0].ours == "5"
    assert len(pending(claim, Request(), tmp_path)[0]) == 2


def test_progress_starts_with_what_is_done_and_ends_with_all(tmp_path):
    run(squares([]), Request("quick", {"nodes": [1]}), tmp_path)
    seen = []
    run(squares([]), Request(), tmp_path, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 3), (2, 3), (3, 3)]


def test_an_option_the_claim_does_not_know_is_refused(tmp_path):
    with pytest.raises(ValueError, match="squares does not accept --datasets"):
        pending(squares([]), Request("quick", {"datasets": ["cora"]}), tmp_path)


def test_claims_are_found_by_name():
    assert [claim.name for claim in all_claims()] == list(CLAIMS)
    with pytest.raises(ValueError, match="unknown claim 'gravity'; available: "):
        find_claim("gravity")
