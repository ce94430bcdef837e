import pytest

from newtonnet.files import whole_file, write_whole


def test_a_file_appears_whole_under_its_name(tmp_path):
    write_whole(tmp_path / "deep" / "a.txt", "grüß")
    assert (tmp_path / "deep" / "a.txt").read_text(encoding="utf-8") == "grüß"
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["a.txt"]


def half_write(path):
    with whole_file(path) as temporary:
        temporary.write_text("half")
        raise RuntimeError


def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(RuntimeError):
        half_write(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]
