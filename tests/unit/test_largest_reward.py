"""Nothing is above the largest reward, and the gain that counts is in the reward's units."""

import csv
import json

import numpy as np
import pytest

import entropylaw
from entropylaw.documents.codec import encode
from entropylaw.roles.select import select
from entropylaw.units import largest_reward, nats_per_unit
from tests.conftest import ROOT
from tests.laws import fit_arrays
from tests.typed import typed

LAB = ROOT / "data" / "lab"
REWARDS = {
    *("ceiling", "now", "reward", "rewards", "expected", "last_reward", "lost", "fitted"),
    *("mean", "observation", "observation_low", "observation_high"),
}
"""The fields of documents that hold rewards, in themselves or in what is below them."""
OTHERS = {
    *("entropy", "step", "level", "std_error", "probability", "parameters", "shapes", "residual_sd"),
    *("method", "note"),
}


def rewards(node, path="$", *, inside=False):
    """Yield path and value of every reward in a document."""
    if isinstance(node, dict):
        mean = "mean" in node and inside
        for name, value in node.items():
            below = name in REWARDS or (inside and name in ("value", "low", "high", "law", "line"))
            below |= (mean or "mean" in node) and name in ("low", "high")
            yield from rewards(value, f"{path}.{name}", inside=below or (inside and name not in OTHERS))
    elif isinstance(node, list):
        for item in node:
            yield from rewards(item, path, inside=inside)
    elif inside and isinstance(node, float):
        yield path, node


def write(path, entropy, reward, name="val_acc", entropy_name="entropy"):
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["step", entropy_name, name])
        rows.writerows(zip(range(1, len(entropy) + 1), entropy, reward, strict=True))
    return path


def line(seed=0, n=200):
    """Reward on a line that reaches 1 at H = 0.95, and has 1.56 at H = 0."""
    entropy = 1.31 + 1.19 * np.exp(-4 * np.arange(n) / n)
    return entropy, 1.557 - 0.583 * entropy + 0.01 * np.random.default_rng(seed).standard_normal(n)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write(tmp_path_factory.mktemp("line") / "line.csv", *line())


COMMANDS = [
    "fit line.csv --format json --no-save",
    "predict line.csv --target-entropy 0 --target-entropy 0.1 --target-entropy 1.5 --target-reward 0.99 "
    "--at-step 300 --at-step 500 --format json",
    "fit line.csv --steps 900 --format json --no-save",
    "check line.csv --fail-if ceiling<0.1 --format json",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_no_command_has_a_reward_above_the_largest(log, command):
    ended = typed(*command.split(), cwd=log.parent, code=0)
    found = list(rewards(json.loads(ended.stdout)))
    assert bool(found) == ("check" not in command)
    assert [(path, value) for path, value in found if value > 1] == []


def test_no_report_and_no_comparison_has_a_reward_above_the_largest(log, tmp_path):
    for number, arm in enumerate("aabb"):
        (tmp_path / arm).mkdir(exist_ok=True)
        entropy, reward = line(number, n=60)
        write(tmp_path / arm / f"{arm}{number}.csv", entropy, np.minimum(reward * 1.25, 1.0))
    assert typed("report", str(log), "-o", "pages", cwd=tmp_path).returncode == 0
    typed("compare", "a=a", "b=b", "--format", "json", "-o", "c.json", cwd=tmp_path, code=0)
    documents = [*(tmp_path / "pages").rglob("*.json"), tmp_path / "c.json"]
    assert len(documents) >= 2
    for path in documents:
        found = list(rewards(json.loads(path.read_text())))
        assert [(path.name, *one) for one in found if one[1] > 1] == []


def test_curves_that_all_pass_the_largest_reward_end_there(log):
    fit = entropylaw.fit(log)
    assert (fit.max_reward, fit.law.max_reward) == (1.0, 1.0)
    assert 0.8 < fit.law.ceiling.low <= fit.law.ceiling.value <= fit.law.ceiling.high <= 1
    at_zero = fit.predict(0.0).mean
    assert 0.95 < at_zero.low <= at_zero.value <= at_zero.high <= 1
    assert max(map(max, fit.curve.forms.values())) <= 1
    assert fit.entropy_for(1.0).value == pytest.approx(0.955, abs=0.02)
    for one in (fit, fit.law):
        beyond = one.entropy_for(1.2)
        assert (beyond.value, beyond.intervals) == (None, ())
        assert "above 1, the largest" in beyond.note
        assert one.predict(0.05).observation.high <= 1
    # As the curves were: taken off, and in a reward of another name.
    for free in (entropylaw.fit(log, max_reward="none"), fit_arrays(*line())):
        assert free.max_reward is None
        assert free.predict(0.0).mean.value == pytest.approx(1.557, abs=0.03)
    assert encode(entropylaw.fit(log, max_reward=1)) == encode(fit)


def test_the_largest_reward_is_taken_off(log):
    asked = ("predict", str(log), "--target-entropy", "0", "--format", "json")
    predictions = []
    for settings in ("", "max-reward = 'none'\n"):
        (log.parent / "entropylaw.toml").write_text(settings)
        done = typed(*asked, cwd=log.parent)
        predictions += json.loads(done.stdout)["runs"][0]["result"]["predictions"]
    bounded, free = predictions
    assert bounded["mean"]["high"] == 1.0
    assert free["mean"]["value"] == pytest.approx(1.557, abs=0.03)


NAMES = {
    "val_acc": (1, 100),
    "eval/math500_accuracy": (1, 100),
    "pass@8": (1, 100),
    "valAcc": (1, 100),
    "win_rate": (1, 100),
    "test/env/all/correct": (1, None),
    "num_solved": (1, None),
    "acc_pct": (None, 100),
    "reward": (None, None),
    "score": (None, None),
    "bypass": (None, None),
    "chemistry": (None, None),
}


@pytest.mark.parametrize("name", NAMES)
def test_the_largest_reward_by_name_and_values(name):
    assert largest_reward(name, np.array([0.0, 0.7])) == NAMES[name][0]
    assert largest_reward(name, np.array([0.0, 70.0])) == NAMES[name][1]
    assert largest_reward(name, np.array([-0.1, 0.7])) is None
    assert largest_reward(name, np.array([0.1, 170.0])) is None


UNITS = {
    "entropy_bits": np.log(2),
    "token_entropy_base2": np.log(2),
    "entropy(bits)": np.log(2),
    "entropy/bit": np.log(2),
    "entropy_log2": np.log(2),
    "entropy_dits": np.log(10),
    "entropy_4bit": 1.0,
    "orbits_entropy": 1.0,
}


@pytest.mark.parametrize("name", UNITS)
def test_an_entropy_in_another_unit_is_converted(tmp_path, name):
    assert nats_per_unit(name)[0] == pytest.approx(UNITS[name])
    entropy, reward = line(n=20)
    (run,) = entropylaw.read_runs(write(tmp_path / "log.csv", entropy, reward, entropy_name=name))
    series = select(run, entropy=name)
    np.testing.assert_allclose(series.entropy, entropy * UNITS[name], rtol=1e-6)
    assert "converted from" in series.entropy_choice.meaning.unit if UNITS[name] != 1.0 else True


def test_commands_convert_bits_and_refuses_a_perplexity(tmp_path):
    entropy, reward = line(n=40)
    write(tmp_path / "bits.csv", entropy / np.log(2), reward, entropy_name="entropy_bits")
    write(tmp_path / "ppl.csv", np.exp(entropy), reward, entropy_name="entropy_perplexity")
    for command in ("fit", "columns", "check"):
        more = {"check": ["--fail-if", "ceiling<0.1"], "fit": ["--no-save"]}.get(command, [])
        typed(command, "bits.csv", "--entropy", "entropy_bits", *more, cwd=tmp_path, code=0)
        ppl = typed(command, "ppl.csv", "--entropy", "entropy_perplexity", *more, cwd=tmp_path)
        assert "perplexity by its name" in ppl.stderr + ppl.stdout
    options = ("--entropy", "entropy_bits", "--no-save", "--details")
    text = typed("fit", "bits.csv", *options, cwd=tmp_path).stdout
    assert "'entropy_bits' (nats, converted from bits" in " ".join(text.split())
    (tmp_path / "tokens.jsonl").write_text('{"step": 1, "entropy_bits": 0.5, "response": 1}\n' * 2)
    ended = typed("tokens", "tokens.jsonl", "--entropy", "entropy_bits", cwd=tmp_path)
    assert "error[entropy-in-bits]" in ended.stderr
