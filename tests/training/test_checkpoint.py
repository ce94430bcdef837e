import signal
import threading

import pytest

from newtonnet.training import deferred_interrupt


def test_the_first_ctrl_c_waits_and_the_second_acts_at_once():
    with deferred_interrupt() as release:
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            release()
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_is_there_keeps_the_say():
    heard = []
    before = signal.signal(signal.SIGINT, lambda number, frame: heard.append(number))
    try:
        with deferred_interrupt() as release:
            signal.raise_signal(signal.SIGINT)
            release()
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == [signal.SIGINT]


def test_an_ignored_ctrl_c_stays_ignored():
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupt() as release:
            signal.raise_signal(signal.SIGINT)
            release()
    finally:
        signal.signal(signal.SIGINT, before)


def test_another_thread_changes_nothing():
    seen = []

    def work():
        with deferred_interrupt() as release:
            release()
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
