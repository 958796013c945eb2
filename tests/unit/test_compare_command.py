"""``entropylaw compare`` and ``entropylaw.compare``: what is grouped, counted, refused and stored."""

import json

import numpy as np
import pytest

import entropylaw
from entropylaw import EntropyLawError
from entropylaw.documents.loading import load
from tests.fuzz.hiding import jsonl, records
from tests.laws import fit_arrays
from tests.typed import assert_error, assert_says, typed, write_csv

pytestmark = pytest.mark.usefixtures("one_cache")

HEAD = "step,actor/entropy,critic/score/mean"


def write(path, seed, gain=0.0, *, n=32, head=HEAD):
    """A run of an arm: reward follows entropy, an arm has ``gain`` more of it, and a seed its own part."""
    chance = np.random.default_rng([seed, int(1000 * gain)])
    entropy = 0.05 + 0.9 * np.exp(-4 * np.arange(n) / n) + 0.005 * chance.random(n)
    reward = 0.5 + gain + 0.005 * chance.standard_normal() - 0.2 * np.expm1(entropy)
    reward += 0.003 * chance.standard_normal(n)
    write_csv(path, n=n, entropy=list(entropy), reward=list(reward), header=head)


@pytest.fixture(scope="module")
def logs(tmp_path_factory):
    """Three seeds of two arms, and a run of none."""
    folder = tmp_path_factory.mktemp("logs")
    for arm, gain in (("clip", 0.1), ("grpo", 0.0)):
        for seed in range(3):
            write(folder / f"{arm}_s{seed}.csv", seed, gain)
    write(folder / "other.csv", 7, 0.3)
    return folder


def stored(folder, *arguments):
    done = typed("compare", *arguments, "-o", "comparison.json", "--jobs", "1", cwd=folder, code=0)
    return done, load(folder / "comparison.json", "comparison")


def test_arms_are_recognised_said_first_and_stored(logs, tmp_path):
    done, document = stored(tmp_path, logs)
    said = done.stderr.splitlines()
    assert said[:4] == [
        "arms by names without their seed:",
        "  clip: 3 runs (clip_s0, clip_s1, clip_s2)",
        "  grpo: 3 runs (grpo_s0, grpo_s1, grpo_s2)",
        "  in no arm: other (no seed in its name, and no group)",
    ]
    assert [(one.arm, one.runs) for one in document.grouped] == [
        ("clip", ("clip_s0", "clip_s1", "clip_s2")),
        ("grpo", ("grpo_s0", "grpo_s1", "grpo_s2")),
    ]
    assert [one.run for one in document.left_out] == ["other"]
    assert (document.comparison.baseline, document.comparison.chosen) == ("grpo", "by its name")
    assert len(document.inputs) == 7
    assert str(logs) not in (tmp_path / "comparison.json").read_text()
    # The difference of the rewards is planted.
    found = document.comparison.pair("clip", "grpo")["reward_at_entropy"]
    assert 0 < found.estimate.low < 0.1 < found.estimate.high


def test_the_baseline_and_all_pairs(logs, tmp_path):
    _, document = stored(tmp_path, logs, "--baseline", "grpo")
    assert [(one.arm, one.baseline) for one in document.comparison.pairs] == [("clip", "grpo")]
    write(logs.parent / "x_s0.csv", 1, 0.2)
    _, document = stored(tmp_path, logs, logs.parent / "x_s0.csv", "--baseline", "all")
    assert document.comparison.baseline is None
    assert len(document.comparison.pairs) == 3


def test_arms_by_a_pattern_have_its_first_group(logs, tmp_path):
    _, document = stored(tmp_path, logs, "--arms", r"_(s\d)")
    assert [(one.arm, len(one.runs)) for one in document.grouped] == [("s0", 2), ("s1", 2), ("s2", 2)]
    assert document.left_out[0].why == r"--arms _(s\d) does not match its name"


def test_a_run_that_cannot_be_read_or_fitted_is_left_out_of_its_arm_by_name(logs, tmp_path):
    bad = tmp_path / "bad"
    bad.mkdir()
    write(bad / "grpo_s3.csv", 3, n=3)
    (bad / "grpo_s4.csv").write_text("step,actor/entropy\n1,0.5\n2,0.4\n3,0.3\n")
    (bad / "grpo_s5.parquet").write_bytes(b"PAR1 and nothing else")
    for sources in ((logs, bad), (f"grpo={logs}/grpo_*", f"grpo={bad}", f"clip={logs}/clip_*")):
        done, document = stored(tmp_path, *sources, "--baseline", "clip")
        (grpo,) = (one for one in document.comparison.arms if one.arm == "grpo")
        left_out = {one.run for one in grpo.runs if one.left_out}
        assert left_out == {one.run for one in document.missing} == {"grpo_s3", "grpo_s4", "grpo_s5"}
        assert [one.failed for one in grpo.runs] == [None] * 6
        assert grpo.failure_rate.value == 0.0
        assert done.stderr.count("error[") == 3
        assert document.comparison.pairs[0]["failure_rate"].seeds == (3, 3)


def test_files_that_are_skipped_for_one_reason_are_one_line_below_the_answer(logs, tmp_path):
    folder = tmp_path / "other"
    folder.mkdir()
    for i in range(4):
        (folder / f"{i}.json").write_text('{"lr": 1}')
    write(folder / "grpo_s9.csv", 9)
    typed("compare", logs, folder, "-o", "x.md", "--jobs", "1", cwd=tmp_path, code=0)
    page = (tmp_path / "x.md").read_text()
    (line,) = (line for line in page.splitlines() if "skipped" in line)
    assert line.startswith("- skipped: other/0.json, other/1.json and 2 more: a single record")
    assert "warning" not in page
    assert page.index("at equal entropy") < page.index(line)


def test_nothing_to_fit_is_no_comparison(tmp_path):
    for name in ("a_s0", "b_s0"):
        write(tmp_path / f"{name}.csv", 1, n=3)
    done = assert_error(typed("compare", "a_s0.csv", "b_s0.csv", cwd=tmp_path), "too-few-evaluations", 4)
    assert not done.stdout


def test_stored_fits_and_reports_are_runs_of_arms(logs, tmp_path):
    for arm in ("grpo", "clip"):
        typed("fit", *sorted(logs.glob(f"{arm}_*")), "-o", f"{arm}.fit.json", cwd=tmp_path, code=0)
    report = ("report", *sorted(logs.glob("clip_*")), "-o", "pages", "--figures", "none")
    assert typed(*report, "--jobs", "1", cwd=tmp_path).returncode == 0
    _, fresh = stored(tmp_path, f"grpo={logs}/grpo_*", f"clip={logs}/clip_*")
    for clip in ("clip.fit.json", "pages", "pages/report.json", f"{logs}/clip_*"):
        _, document = stored(tmp_path, "grpo=grpo.fit.json", f"clip={clip}")
        assert document.comparison == fresh.comparison
        assert {file.sha256 for file in document.inputs} == {file.sha256 for file in fresh.inputs}
    _, document = stored(tmp_path, "grpo.fit.json", "clip.fit.json")
    assert [one.arm for one in document.grouped] == ["grpo", "clip"]
    assert_error(
        typed("compare", "grpo=grpo.fit.json", "clip=clip.fit.json", "--pair", "next", cwd=tmp_path),
        "fit-is-fixed",
        2,
    )


ERRORS = {
    "no arm": (("{logs}/other.csv",), "no-arm-recognised", 2),
    "an empty folder": (("a={logs}/grpo_*", "b=empty"), "arm-without-logs", 3),
    "no such file": (("a={logs}/grpo_*", "b=nothing.csv"), "file-not-found", 3),
    "a wrong margin": (("{logs}", "--margin", "0"), "bad-option", 2),
    "an unknown column": (("{logs}", "--reward", "val"), "column-not-found", 3),
    "details as JSON": (("{logs}", "--details", "--format", "json"), "details-are-text", 2),
    "another document": (("a=other.json", "b={logs}/clip_*"), "not-a-document", 3),
}


@pytest.mark.parametrize("name", ERRORS)
def test_wrong_input_is_an_error_with_what_to_type(name, logs, tmp_path):
    arguments, slug, code = ERRORS[name]
    (tmp_path / "empty").mkdir()
    other = {"schema": "entropylaw/columns/1", "version": "0.1.0", "runs": []}
    (tmp_path / "other.json").write_text(json.dumps(other))
    done = assert_error(
        typed("compare", *(one.format(logs=logs) for one in arguments), "--jobs", "1", cwd=tmp_path),
        slug,
        code,
    )
    assert not done.stdout


@pytest.mark.parametrize("reward", ["reward", "val-core/gsm8k/acc/mean@1"])
def test_arms_with_different_rewards_do_not_compare(reward, logs, tmp_path):
    write(tmp_path / "x.csv", 9, head=f"step,actor/entropy,{reward}")
    same = ("--pair", "same", "--jobs", "1")
    done = assert_error(
        typed("compare", f"grpo={logs}/grpo_*", "x=x.csv", *same, cwd=tmp_path), "unlike-rewards", 3
    )
    assert_says(
        done.stderr,
        f"their column is 'critic/score/mean' and '{reward}'; 'grpo_s0' (grpo) has 0.",
        "'x' (x) has 0.",
    )


def changed(entry, **changes):
    """The fit document of one run with another meaning of its entropy, or another pairing."""
    run = entry["runs"][0]
    reward = run["columns"]["reward"]
    reward["pair"] = changes.pop("pair", reward["pair"])
    run["columns"]["entropy"]["meaning"] |= changes
    return entry


@pytest.mark.parametrize(
    ("changes", "what", "hint"),
    [
        ({"unit": "bits"}, "entropy", "--entropy"),
        ({"aggregation": "sequence sum"}, "entropy", "--entropy"),
        ({"estimator": "sampled"}, "entropy", "--entropy"),
        ({"pair": "next"}, "pairing", "--pair same"),
        ({"trainer": "another", "note": "x"}, None, None),
    ],
)
def test_arms_in_different_units_or_pairings_do_not_compare(changes, what, hint, logs, tmp_path):
    for name in ("grpo_s0", "clip_s0"):
        done = typed(
            "fit", logs / f"{name}.csv", "-o", f"{name}.json", "--pair", "same", cwd=tmp_path, code=0
        )
    path = tmp_path / "clip_s0.json"
    path.write_text(json.dumps(changed(json.loads(path.read_text()), **changes)))
    done = typed("compare", "grpo_s0.json", "clip_s0.json", cwd=tmp_path)
    if what is None:
        assert done.returncode == 0, done.stderr
        return
    assert_error(done, "arms-mix-columns", 3)
    assert_says(done.stderr, f"the arms differ in {what}: ", "'grpo_s0' (grpo)", "'clip_s0' (clip)")
    assert hint in done.stderr


def test_settings_of_a_file(logs, tmp_path):
    (tmp_path / "entropylaw.toml").write_text('margin = 0.02\nbaseline = "grpo"\n')
    _, document = stored(tmp_path, f"clip={logs}/clip_*", f"grpo={logs}/grpo_*")
    assert (document.comparison.margin, document.comparison.baseline) == (0.02, "grpo")


def test_a_page_has_the_figures(logs, tmp_path):
    pair = (f"grpo={logs}/grpo_*", f"clip={logs}/clip_*")
    done = typed("compare", *pair, "-o", "arms.html", "--jobs", "1", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, "")
    page = (tmp_path / "arms.html").read_text()
    assert page.count("<svg") >= 2
    assert "grpo: 3 runs (grpo_s0, grpo_s1, grpo_s2)" in page


def test_arms_have_curves_over_the_steps(logs, tmp_path):
    _, document = stored(tmp_path, logs)
    clip, grpo = document.comparison.arms
    for arm, gain in ((clip, 0.1), (grpo, 0.0)):
        assert (arm.steps[0], arm.steps[-1]) == (arm.runs[0].steps[0], arm.runs[0].steps[-1])
        ends = [0.5 + gain - 0.2 * np.expm1(0.05 + 0.9 * np.exp(-4 * x)) for x in (0.0, 31 / 32)]
        assert (arm.by_step[0], arm.by_step[-1]) == pytest.approx(ends, abs=0.02)
    typed("compare", logs, "--at-equal", "step", "-o", "steps.html", cwd=tmp_path, code=0)
    # Where rewards are compared at equal steps, the figure of the arms is this one.
    assert (tmp_path / "steps.html").read_text().count("<figure") == 1


def test_a_broken_arm_is_no_baseline_by_its_seeds(tmp_path):
    for seed in range(3):
        write(tmp_path / f"early_s{seed}.csv", seed)
        write(tmp_path / f"lost_s{seed}.csv", seed + 3)
        lines = (tmp_path / f"lost_s{seed}.csv").read_text().splitlines()
        broken = [",".join([*line.split(",")[:-1], "0.0"]) for line in lines[13:]]
        (tmp_path / f"lost_s{seed}.csv").write_text("\n".join([*lines[:13], *broken]) + "\n")
    (tmp_path / "early_s2.csv").unlink()
    _, document = stored(tmp_path, tmp_path)
    assert document.comparison.baseline == "early"


def test_the_figure_of_a_stored_comparison(logs, tmp_path):
    stored(tmp_path, f"grpo={logs}/grpo_*", f"clip={logs}/clip_*")
    typed("plot", "arms", "comparison.json", "-o", "arms.svg", cwd=tmp_path, code=0)
    assert (tmp_path / "arms.svg").read_text().startswith("<svg")


def write_columns(path, seed, gain, *, entropy=True):
    """A run with tokens, and with an entropy or without one."""
    chance = np.random.default_rng([seed, int(1000 * gain)])
    rows = ["step,tokens,val_acc" + ",actor/entropy" * entropy]
    for i in range(30):
        reward = 0.2 + gain + 0.4 * (1 - np.exp(-i / 8)) + 0.004 * chance.standard_normal()
        rows.append(f"{10 * i},{1000 * (i + 1)},{reward}" + f",{0.1 + np.exp(-i / 10)}" * entropy)
    path.write_text("\n".join(rows))


def test_arms_without_an_entropy_are_compared_at_equal_steps(tmp_path):
    for arm, gain in (("a", 0.0), ("b", 0.05)):
        for seed in range(3):
            write_columns(tmp_path / f"{arm}_s{seed}.csv", seed, gain, entropy=False)
    _, document = stored(tmp_path, *(f"{arm}_s{seed}.csv" for arm in "ab" for seed in range(3)))
    pair = document.comparison.pairs[0]
    assert (document.comparison.along.column, document.left_out) == ("step", ())
    for name in ("last_reward", "reward_at_equal"):
        assert pair[name].estimate.value == pytest.approx(0.05, abs=0.01)
        assert pair[name].decision.value == "higher"
    assert [one.code for one in document.comparison.findings] == ["no-entropy-in-arms"]


def test_runs_without_an_entropy_that_broke_have_failed(tmp_path):
    """From logs, stored fits and a report alike; the other runs are compared at equal steps."""
    names = {}
    for arm, gain in (("a", 0.0), ("b", 0.05)):
        for seed in range(4):
            path = tmp_path / f"{arm}_s{seed}.csv"
            write_columns(path, seed, gain, entropy=False)
            names.setdefault(arm, []).append(path.name)
    head, *rows = (tmp_path / "a_s0.csv").read_text().splitlines()
    cells = [row.split(",") for row in rows]
    changed = {
        "a_s2.csv": [
            f"{step},{tokens}," + (reward if int(step) < 250 else "") for step, tokens, reward in cells
        ],
        "b_s2.csv": [
            f"{step},{tokens}," + (reward if int(step) < 200 else "0.01") for step, tokens, reward in cells
        ],
        "b_s3.csv": rows[:5],
    }
    for name, lines in changed.items():
        (tmp_path / name).write_text("\n".join([head, *lines]))
    for arm, logs_of_arm in names.items():
        assert typed("fit", *logs_of_arm, "-o", f"{arm}.fit.json", cwd=tmp_path).returncode == 0
    assert typed("report", *names["b"], "-o", "pages", "--figures", "none", cwd=tmp_path).returncode == 0
    _, fresh = stored(tmp_path, "a=a_*.csv", "b=b_*.csv")
    assert fresh.comparison.along.column == "step"
    failed = {one.run: one.failed for arm in fresh.comparison.arms for one in arm.runs if one.failed}
    assert failed == {
        "b_s2": "reward from 0.563 to 0.01",
        "a_s2": "no usable reward after step 240",
    }
    (left_out,) = fresh.missing
    assert (left_out.run, left_out.arm) == ("b_s3", "b")
    assert left_out.why.startswith("5 usable evaluations")
    for arms in (("a=a.fit.json", "b=b.fit.json"), ("a=a.fit.json", "b=pages")):
        assert stored(tmp_path, *arms)[1].comparison == fresh.comparison


@pytest.mark.parametrize("without", [(), ("b_s2", "b_s3"), ("b_s0", "b_s1", "b_s2", "b_s3")])
def test_a_run_without_an_entropy_is_in_all_that_needs_steps_and_rewards(tmp_path, without):
    """Of none, some and all runs of an arm; the baseline has entropies, and one of either kind breaks."""
    names = [f"{arm}_s{seed}" for arm in "ab" for seed in range(4)]
    for name in names:
        gain = 0.05 if name[0] == "b" else 0.0
        write_columns(tmp_path / f"{name}.csv", int(name[-1]), gain, entropy=name not in without)
    broken = tmp_path / "b_s3.csv"
    head, *rows = broken.read_text().splitlines()
    cells = [row.split(",") for row in rows]
    lost = [",".join([*row[:2], "0.01" if int(row[0]) >= 200 else row[2], *row[3:]]) for row in cells]
    broken.write_text("\n".join([head, *lost]))
    paths = [f"{name}.csv" for name in names]
    _, document = stored(tmp_path, *paths)
    found = document.comparison
    pair = found.pair("b", "a")
    assert {one.run for arm in found.arms for one in arm.runs if one.failed} == {"b_s3"}
    assert {one.run for arm in found.arms for one in arm.runs if one.without_along} == set(without)
    assert document.missing == []
    # All that did not break have a last reward.
    assert pair["living_reward"].seeds == (3, 4)
    assert pair["living_reward"].estimate.value == pytest.approx(0.05, abs=0.01)
    assert pair["failure_rate"].seeds == (4, 4)
    # Only those with an entropy are compared at equal entropies.
    with_entropy = 3 - len({"b_s0", "b_s1", "b_s2"} & set(without))
    assert (found.along.column, pair["reward_at_entropy"].seeds[0]) == ("entropy", with_entropy)
    if with_entropy:
        assert pair["reward_at_entropy"].estimate.value == pytest.approx(0.05, abs=0.01)
    listed = " ".join(typed("compare", *paths, cwd=tmp_path).stdout.split())
    sentence = f"not at equal entropy {len(without)} runs: {', '.join(without)}"
    assert (sentence in listed) == bool(without)
    assert ("not at equal entropy" in listed) == bool(without)


def test_rewards_at_equal_values_of_a_column(tmp_path):
    for arm, gain in (("a", 0.0), ("b", 0.05)):
        for seed in range(3):
            write_columns(tmp_path / f"{arm}_s{seed}.csv", seed, gain)
    names = [f"{arm}_s{seed}.csv" for arm in "ab" for seed in range(3)]
    _, document = stored(tmp_path, *names, "--at-equal", "tokens")
    found = document.comparison.pairs[0]["reward_at_equal"]
    assert found.estimate.value == pytest.approx(0.05, abs=0.01)
    done = typed("compare", *names, "--at-equal", "tokens", cwd=tmp_path)
    assert ["b", "1000–30000"] in [line.split()[:2] for line in done.stdout.splitlines()]
    assert "nats" not in done.stdout
    assert_error(typed("compare", *names, "--at-equal", "token", cwd=tmp_path), "no-such-column", 2)
    assert "--at-equal tokens" in typed("compare", *names, "--at-equal", "token", cwd=tmp_path).stderr
    for name in names:
        assert typed("fit", name, "-o", f"{name}.json", cwd=tmp_path).returncode == 0
    done = assert_error(
        typed("compare", *(f"{name}.json" for name in names), "--at-equal", "tokens", cwd=tmp_path),
        "column-needs-logs",
        2,
    )


def test_pairing_by_seed(logs, tmp_path):
    _, document = stored(tmp_path, f"grpo={logs}/grpo_*", f"clip={logs}/clip_*", "--pair", "seed")
    assert (document.comparison.paired, document.settings.pair) == ("seed", "seed")
    assert document.comparison.pairs[0]["reward_at_entropy"].seeds == (3, 3)
    assert_error(
        typed("compare", f"a={logs}/grpo_s0.csv", f"b={logs}/clip_s1.csv", "--pair", "seed", cwd=tmp_path),
        "nothing-paired",
        2,
    )


def test_the_function_takes_paths_and_fits(logs, tmp_path):
    _, document = stored(tmp_path, f"grpo={logs}/grpo_*", f"clip={logs}/clip_*")
    fits = [entropylaw.fit(logs / f"clip_s{seed}.csv") for seed in range(3)]
    for clip in (f"{logs}/clip_*", sorted(logs.glob("clip_*")), fits, [*fits[:2], logs / "clip_s2.csv"]):
        found = entropylaw.compare({"grpo": f"{logs}/grpo_*", "clip": clip})
        assert {run.run for run in found.arms[1].runs} == {f"clip_s{seed}" for seed in range(3)}
        for one, other in zip(
            found.pairs[0].differences, document.comparison.pairs[0].differences, strict=True
        ):
            assert one.quantity == other.quantity
            assert one.estimate.value == pytest.approx(other.estimate.value, rel=1e-6)
    assert isinstance(found, entropylaw.ArmComparison)


def test_a_fit_of_arrays_that_is_given_twice_has_what_to_type():
    fit = fit_arrays([1.0, 0.8, 0.6, 0.4, 0.2, 0.1], [0.1, 0.2, 0.3, 0.4, 0.5, 0.55])
    with pytest.raises(EntropyLawError) as caught:
        entropylaw.compare({"a": [fit, fit], "b": [fit]})
    assert (caught.value.slug, "name='grpo_s0'" in (caught.value.hint or "")) == ("run-in-two-arms", True)


@pytest.mark.parametrize(
    "arms", ["tr=tr_* hi=hi_*", "tr_s0.jsonl tr_s1.jsonl tr_s3.jsonl hi_s0.jsonl hi_s1.jsonl"]
)
def test_seeds_that_could_not_be_read_stand_in_the_document_and_in_its_first_lines(run, tmp_path, arms):
    for seed in range(2):
        (tmp_path / f"tr_s{seed}.jsonl").write_bytes(jsonl(records(True, seed)))
        (tmp_path / f"hi_s{seed}.jsonl").write_bytes(jsonl(records(False, seed)))
    (tmp_path / "tr_s3.jsonl").touch()
    done = run("--no-config", "compare", *arms.split(), "-o", "c.json")
    assert done.stderr.splitlines()[0].startswith("tr_s3.jsonl could not be read: ")
    left_out = json.loads((tmp_path / "c.json").read_text())["left_out"]
    assert [(one["run"], one["arm"], one["read"]) for one in left_out] == [("tr_s3", "tr", False)]
    assert "missing" in run("--no-config", "compare", *arms.split()).stdout.splitlines()[2]
    gate = "difference(tr, hi).reward_at_entropy<0"
    done = run("--no-config", "check", "c.json", "--fail-if", gate)
    assert (done.returncode, "tr_s3 of tr has no result" in done.stdout) == (5, True)


def test_a_file_of_no_arm_that_could_not_be_read_may_be_of_any(run, tmp_path):
    names = [f"{arm}_s{seed}.jsonl" for arm in ("tr", "hi") for seed in range(2)]
    for place, name in enumerate(names):
        (tmp_path / name).write_bytes(jsonl(records(place < 2, place)))
    (tmp_path / "other.jsonl").touch()
    run("--no-config", "compare", *names, "other.jsonl", "-o", "c.json")
    left_out = json.loads((tmp_path / "c.json").read_text())["left_out"]
    assert [(file["run"], file["arm"], file["read"]) for file in left_out] == [("other", "", False)]
    assert run("--no-config", "check", "c.json", "--fail-if", "difference(tr, hi).ceiling<0").returncode == 5
