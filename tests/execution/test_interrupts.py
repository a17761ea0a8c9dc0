"""Ctrl-C that waits until Spark has started."""

import os
import signal
import threading

import pytest

from anabranch.execution.interrupts import HELD_SECONDS, held_back


@pytest.fixture(autouse=True)
def _answered():
    """As in a process of its own: a session of other tests has a handler that stays."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    os.kill(os.getpid(), signal.SIGINT)


def run(*steps, seconds=HELD_SECONDS):
    """How many steps were done before Ctrl-C was answered."""
    done = []
    with pytest.raises(KeyboardInterrupt), held_back(seconds):  # noqa: PT012 - which of them raises is the question
        for step in steps:
            step()
            done.append(step)
    return len(done)


def fail():
    raise OSError


def test_it_is_answered_when_the_block_ends():
    assert run(press, press, str) == 3
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_it_counts_more_than_an_error():
    assert run(press, fail) == 1


def test_what_starts_too_long_can_be_left():
    assert run(press, str, seconds=-1) == 0


def test_nothing_is_answered_that_was_not_pressed():
    with held_back():
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_that_came_meanwhile_stays():
    def of_spark(number, frame):
        raise AssertionError

    assert run(press, lambda: signal.signal(signal.SIGINT, of_spark)) == 2
    assert signal.getsignal(signal.SIGINT) is of_spark


def test_what_ignores_it_still_does():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with held_back():
        press()


def test_other_threads_are_not_interrupted():
    found = []

    def start():
        with held_back():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    assert found == [signal.default_int_handler]
