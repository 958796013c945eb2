"""Finished runs in benchmarks: where they are cut, simple forecasts, and replays of the stop line."""

import numpy as np
import pytest

from benchmarks.cuts import cuts_of, peers, scalerl, three_lines
from benchmarks.looks import replay
from tests.laws import stop_line_of
from tests.unit.test_stop import STEP, climbing, run


def test_cuts_are_before_what_is_predicted():
    step = np.arange(100.0)
    for until, at, nearest in cuts_of(step):
        assert step[until - 1] < at
        assert nearest.min() >= until
        assert np.abs(step[nearest] - at).max() <= 2.5


def test_scalerl_continues_a_sigmoid():
    step = np.arange(1.0, 41.0)
    curve = 0.8 - 0.6 / (1 + (step / 15) ** 2)
    assert scalerl(step[:25], curve[:25], step[37]) == pytest.approx(curve[37], abs=0.03)


def test_three_lines_shrink_a_slope_that_is_not_there():
    rng = np.random.default_rng(0)
    entropy = np.linspace(1, 0.2, 30)
    noise = rng.normal(0, 0.01, 30)
    clear = three_lines(entropy, 0.5 - 0.4 * entropy + noise, np.array([0.0]))
    unclear = three_lines(entropy, 0.5 + 10 * noise, np.array([0.0]))
    assert clear == pytest.approx(0.5, abs=0.03)
    assert abs(unclear - (0.5 + 10 * noise[-3:].mean())) < 0.05


def test_without_entropies_only_the_sigmoid_says_something():
    step, entropy, reward = run(climbing(25))
    said = peers(step, np.full(25, np.nan), reward, 300.0, np.array([np.nan]))
    assert [name for name, value in said.items() if value is not None] == ["scalerl"]
    assert None not in peers(step, entropy, reward, 300.0, np.array([0.1, 0.2])).values()


def test_a_failure_is_looked_at_where_it_begins():
    n = 400
    step = np.arange(float(n))
    rng = np.random.default_rng(0)
    reward = 0.5 + 0.001 * step + 0.02 * rng.standard_normal(n)
    entropy = np.full(n, 0.2)
    healthy = replay(step, entropy, reward)
    assert np.diff([look.line.evaluations for look in healthy.looks]).max() == 7
    entropy[301:] = 1.0
    played = replay(step, entropy, np.where(step < 301, reward, 0.3))
    assert {304, 305, 306, 307} <= {look.line.evaluations for look in played.looks}
    named = next(look.line for look in played.looks if look.line.exploded_since is not None)
    assert (named.evaluations, named.exploded_since) == (304, 301.0)
    assert played.first("exploded").line.evaluations <= 307


def test_a_replay_says_what_was_said_and_what_came():
    values = run(climbing())
    played = replay(*values)
    assert [look.line.evaluations for look in played.looks] == list(range(8, 50))
    for look in played.looks:
        until = look.line.evaluations
        assert look.line == stop_line_of(*(value[:until] for value in values), steps=float(STEP[-1]))
        if look.gained is not None:
            inside = STEP[until + 1 : -1] <= look.line.at_step
            means = np.convolve(values[2][until:], np.ones(3) / 3, "valid")[inside]
            assert look.reached == pytest.approx(means.max())
            assert look.gained is (look.reached >= look.line.now + look.line.gain)
    assert played.improving
    assert [played.first(says) for says in ("lost", "exploded")] == [None, None]


def test_replays_of_a_failure_and_of_a_flat_run():
    flat = replay(*run(np.full(50, 0.5)))
    lost = replay(*run(np.concatenate([climbing(30), np.zeros(20)])))
    assert not flat.improving
    first = lost.first("lost").line
    assert (first.lost_since, first.step) == (STEP[30], STEP[32])
