"""Requests wait their turn, and survive the child that they were sent to."""

import threading
from collections import deque

import pytest

from tilewright.processes import ChildDiedError, ChildTimeoutError, Death
from tilewright.tune.measure.run_queue import CancelledError, Job, RunQueue


class FakeSession:
    """A child that answers a request with the same, and does what some of them say."""

    def __init__(self):
        self.log = []
        self.sent = deque()
        self.single = False
        self.answered = 0
        self.is_alive = False
        self.poisoned = False
        self.go_on = threading.Event()
        self.go_on.set()

    def start(self, single):
        self.go_on.wait()
        if self.is_alive and self.single == single:
            return
        if single == "broken":
            raise RuntimeError("no child starts")
        self.log.append(f"start {single}")
        self.is_alive, self.single, self.answered, self.poisoned = True, single, 0, False

    def send(self, request):
        self.log.append(f"send {request}")
        self.sent.append(request)

    def receive(self, deadline):
        request = self.sent.popleft()
        if request == "poison":
            self.poisoned = True
        elif request == "crash" or self.poisoned:
            raise ChildDiedError(Death("crash", "SIGSEGV"))
        if request == "hang":
            raise ChildTimeoutError
        self.log.append(f"answer {request}")
        self.answered += 1
        return {"said": request}

    def end(self):
        self.is_alive = False
        self.sent.clear()

    def close(self):
        self.go_on.set()


def said(answer):
    return answer["said"] if isinstance(answer, dict) else type(answer).__name__


@pytest.fixture
def session():
    return FakeSession()


@pytest.fixture
def jobs(session):
    made = RunQueue(session)
    yield made
    made.close()


def add_all(jobs, session, requests, **options):
    """Add jobs all at once."""
    session.go_on.clear()
    added = [jobs.add(Job(lambda r=r: r, said, False, 1.0, **options)) for r in requests]
    session.go_on.set()
    return [job.result() for job in added]


def test_the_next_request_is_sent_before_the_answer(jobs, session):
    assert add_all(jobs, session, "abc") == ["a", "b", "c"]
    assert session.log.index("send b") < session.log.index("answer a")
    assert session.log.index("send c") > session.log.index("answer a")


def test_a_request_that_depends_on_answers_waits_for_them(jobs, session):
    assert add_all(jobs, session, "ab", depends=lambda: True) == ["a", "b"]
    assert session.log == ["start False", "send a", "answer a", "send b", "answer b"]


def test_a_cancelled_request_is_not_sent(jobs, session):
    session.go_on.clear()
    added = [jobs.add(Job(lambda r=r: r, said, False, 1.0)) for r in "abc"]
    added[1].cancel()
    session.go_on.set()
    assert [job.result() for job in added] == ["a", "CancelledError", "c"]
    assert "send b" not in session.log


def test_a_crash_in_a_new_process_counts(jobs, session):
    assert add_all(jobs, session, ["crash", "b"]) == ["ChildDiedError", "b"]
    assert session.log.count("send crash") == 1


def test_a_crash_after_others_is_tried_again(jobs, session):
    assert add_all(jobs, session, ["a", "crash", "c"]) == ["a", "ChildDiedError", "c"]
    assert session.log.count("send crash") == 2


def test_an_innocent_one_does_not_pay_for_an_earlier_one(jobs, session):
    assert add_all(jobs, session, ["poison", "b", "c"]) == ["poison", "b", "c"]
    assert session.log.count("start False") == 2


def test_what_was_sent_ahead_is_sent_again(jobs, session):
    assert add_all(jobs, session, ["hang", "b", "c"]) == ["ChildTimeoutError", "b", "c"]
    assert session.log.count("send b") == 2


def test_candidates_for_other_cores_get_another_child(jobs, session):
    added = [jobs.add(Job(lambda: "a", said, single, 1.0)) for single in (True, False, False)]
    assert [job.result() for job in added] == ["a"] * 3
    assert [line for line in session.log if "start" in line] == ["start True", "start False"]


def test_errors_belong_to_their_job(jobs, session):
    session.go_on.clear()
    good = jobs.add(Job(lambda: "a", said, False, 1.0))
    bad = jobs.add(Job(lambda: 1 // 0, said, False, 1.0))
    unreadable = jobs.add(Job(lambda: "b", lambda answer: answer["nothing"], False, 1.0))
    broken = jobs.add(Job(lambda: "c", said, "broken", 1.0))
    last = jobs.add(Job(lambda: "d", said, False, 1.0))
    session.go_on.set()
    assert (good.result(), last.result()) == ("a", "d")
    for job, error in ((bad, ZeroDivisionError), (unreadable, KeyError), (broken, RuntimeError)):
        with pytest.raises(error):
            job.result()


def test_a_closed_queue_cancels(jobs, session):
    session.go_on.clear()
    waiting = [jobs.add(Job(lambda: "hang", said, False, 1.0)) for _ in range(4)]
    jobs.close()
    late = jobs.add(Job(lambda: "a", said, False, 1.0))
    assert {job.result() for job in (*waiting, late)} == {CancelledError.__name__}
