"""Checks that several commands share."""

import pytest


@pytest.fixture
def one_line(capsys):
    """Check that a mistake was told in one line on standard error, and that nothing else was printed."""

    def check(message):
        captured = capsys.readouterr()
        assert captured.out == ""
        (line,) = captured.err.splitlines()
        assert line.startswith("newtonnet: ")
        assert message in line

    return check
