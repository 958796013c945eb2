"""The claims: statement, source, published number, the effect in the lab's runs, the rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import gammaln

from benchmarks.evidence.rule import Claim, FloatArray, Made, Runs

EVALUATED = "val_acc"
LAST = 3
"""Evaluations over which the end of a run is averaged."""

K = 64
"""Samples per problem in the counts."""

STRATEGIES = ("direct", "tens_first", "ones_first", "round_up", "sum", "difference")
ENTROPY_KEPT = ("clip_cov", "kl_cov")
TWELFTH = 1 / 12
JOINT, ORDERS = "free_and_school", ("free_then_school", "school_then_free")
BOTH = (JOINT, *ORDERS)
"""Arms on two domains: together, and one after the other."""


def ends(run: Made, column: str) -> tuple[float, float]:
    """The first value of a column, and the mean of its last :data:`LAST`, over the evaluated steps."""
    values = run.columns[column][np.isfinite(run.columns[EVALUATED])]
    return float(values[0]), float(values[-LAST:].mean())


def change(column: str, arm: str) -> Callable[[Runs], FloatArray]:
    """The change of a column from start to end, per run of an arm."""
    return lambda runs: np.array([ends(run, column)[1] - ends(run, column)[0] for run in runs[arm]])


def against(column: str, arms: tuple[str, ...], baseline: str) -> Callable[[Runs], FloatArray]:
    """The end of a column in some arms less that of the baseline's run of the same seed, per pair of runs."""

    def effect(runs: Runs) -> FloatArray:
        base = {run.seed: ends(run, column)[1] for run in runs[baseline]}
        pairs = [(run, base[run.seed]) for arm in arms for run in runs[arm] if run.seed in base]
        # Several arms of one seed share the baseline: the seed is the unit.
        seeds = sorted({run.seed for run, _ in pairs})
        return np.array(
            [
                np.mean([ends(run, column)[1] - end for run, end in pairs if run.seed == seed])
                for seed in seeds
            ]
        )

    return effect


def negative(effect: Callable[[Runs], FloatArray]) -> Callable[[Runs], FloatArray]:
    """The effect with the other sign: what falls."""
    return lambda runs: -effect(runs)


def share_by(column: str, share: float, arm: str) -> Callable[[Runs], FloatArray]:
    """The part of a column's whole change that is over after a share of the run, per run."""

    def effect(runs: Runs) -> FloatArray:
        parts = []
        for run in runs[arm]:
            first, last = ends(run, column)
            step = run.columns["step"]
            known = np.isfinite(run.columns[column])
            early = np.interp(step[-1] * share, step[known], run.columns[column][known])
            parts.append((early - first) / (last - first))
        return np.array(parts)

    return effect


def at_step(run: Made, column: str, step: float) -> float:
    """A column at the last evaluation up to a step."""
    known = np.isfinite(run.columns[column]) & (run.columns["step"] <= step)
    return float(run.columns[column][known][-1])


def stage_change(column: str, arm: str, begin: float) -> Callable[[Runs], FloatArray]:
    """The change of a column from the step at which the last stage begins to the end, per run."""
    return lambda runs: np.array([ends(run, column)[1] - at_step(run, column, begin) for run in runs[arm]])


def leading_share(runs: Runs) -> FloatArray:
    """The rise of the share of the most frequent strategy among the answers, per run of plain GRPO."""
    shares = [[ends(run, f"share_{name}") for name in STRATEGIES] for run in runs["grpo"]]
    return np.array([max(last for _, last in run) - max(first for first, _ in run) for run in shares])


def both_domains(runs: Runs) -> FloatArray:
    """Accuracy on both domains at the end: one after the other less both together, per seed."""
    last = {arm: {run.seed: ends(run, EVALUATED)[1] for run in runs[arm]} for arm in BOTH}
    seeds = sorted(set.intersection(*map(set, last.values())))
    # The better order over all seeds, as a planner would choose it: that of each seed would be lucky.
    better = max(ORDERS, key=lambda arm: sum(last[arm][seed] for seed in seeds))
    return np.array([last[better][seed] - last[JOINT][seed] for seed in seeds])


def imitation_first(runs: Runs) -> FloatArray:
    """Accuracy at step 400: demonstrations and then GRPO, less the better of both alone, per seed."""
    arms = ("sft_grpo_sft", "grpo", "sft_instead")
    both, *alone = ({run.seed: at_step(run, EVALUATED, 400) for run in runs[arm]} for arm in arms)
    seeds = sorted(set(both) & set(alone[0]) & set(alone[1]))
    better = max(alone, key=lambda arm: sum(arm[seed] for seed in seeds))
    return np.array([both[seed] - better[seed] for seed in seeds])


def token_up_answer_down(runs: Runs) -> FloatArray:
    """The smaller of the rise of the token entropy and the fall of the strategies' entropy, per run, nats."""
    rises, falls = change("entropy", "grpo")(runs), change("entropy_semantic", "grpo")(runs)
    return np.minimum(rises, -falls)


def pass_at(run: Made, step: float, k: int) -> float:
    """pass@k over the counted problems, 1 − C(n − c, k)/C(n, k) (Chen et al. 2021, arXiv:2107.03374)."""
    right, total = tallies(run, step)
    wrong = total - right
    with np.errstate(invalid="ignore"):
        none = np.exp(
            gammaln(wrong + 1) - gammaln(wrong - k + 1) - gammaln(total + 1) + gammaln(total - k + 1)
        )
    return float(np.mean(np.where(wrong < k, 1.0, 1.0 - none)))


def tallies(run: Made, step: float) -> tuple[FloatArray, FloatArray]:
    """Right answers and samples of every counted problem at a step."""
    here = run.counts["step"] == step
    prompts, place = np.unique(run.counts["prompt"][here], return_inverse=True)
    if not prompts.size:
        raise IndexError(step)
    n, right = run.counts["n"][here], run.counts["correct"][here]
    return np.bincount(place, n * right), np.bincount(place, n)


def boundary(runs: Runs) -> FloatArray:
    """pass@64 of the start less that after GRPO on `chain`, per run: plain GRPO solves all at both ends."""
    return np.array([pass_at(run, 0, K) - pass_at(run, 400, K) for run in runs["chain"] if run.counts])


def gain_of_search(runs: Runs) -> FloatArray:
    """What 64 samples gain over one: a healthy run less its twin whose entropy was minimised, per seed."""
    gains = [
        {run.seed: pass_at(run, 400, K) - pass_at(run, 400, 1) for run in runs[arm] if run.counts}
        for arm in ("chain", "chain_collapse")
    ]
    return np.array([gains[0][seed] - gains[1][seed] for seed in sorted(set(gains[0]) & set(gains[1]))])


def narrows_unsolved(runs: Runs) -> FloatArray:
    """Fall of distinct answers to problems without a right answer at both ends, per run, in logarithms.

    Whether a problem is solved is seen in one half of its samples, and answers are counted in the other.
    """
    falls = []
    for run in runs["chain"]:
        halves = [halved(run, step, np.random.default_rng(run.seed)) for step in (0, 400)]
        unsolved = (halves[0][0] == 0) & (halves[1][0] == 0)
        if unsolved.any():
            first, last = (np.mean(distinct[unsolved]) for _, distinct in halves)
            falls.append(np.log(first / last))
    return np.array(falls)


def halved(run: Made, step: float, random: np.random.Generator) -> tuple[FloatArray, FloatArray]:
    """Right answers in one half of the samples of every problem, and distinct answers in the other."""
    here = run.counts["step"] == step
    columns = [run.counts[name][here] for name in ("prompt", "n", "correct")]
    right, distinct = [], []
    for prompt in np.unique(columns[0]):
        n, correct = (column[columns[0] == prompt].astype(int) for column in columns[1:])
        half = random.multivariate_hypergeometric(n, int(n.sum()) // 2)
        right.append(float(half @ correct))
        distinct.append(float(np.count_nonzero(n - half)))
    return np.array(right), np.array(distinct)


CUI = "Cui et al. 2025, arXiv:2505.22617"
NOTES = "the notes"
WEIGHTS = "weights of two checkpoints; a log has none"

CLAIMS = (
    Claim(
        statement="Most of the entropy is spent early in a run.",
        source=f"{CUI}, Figure 2",
        published="73 % in the first twelfth",
        quantity="share of the fall of H that is over after a twelfth of plain GRPO",
        effect=share_by("entropy", TWELFTH, "grpo"),
        margin=0.5,
    ),
    Claim(
        statement="Most of the reward is gained early in a run.",
        source=f"{CUI}, Figure 2",
        published="76 % in the first twelfth",
        quantity="share of the gain of accuracy that is over after a twelfth of plain GRPO",
        effect=share_by(EVALUATED, TWELFTH, "grpo"),
        margin=0.5,
    ),
    Claim(
        statement="Clip-Cov and KL-Cov keep entropy up.",
        source=f"{CUI}, section 4",
        published="higher entropy throughout",
        quantity="H at the end less that of plain GRPO, nats",
        effect=against("entropy", ENTROPY_KEPT, "grpo"),
    ),
    Claim(
        statement="Clip-Cov and KL-Cov end at a higher reward.",
        source=f"{CUI}, section 4",
        published="+1.8 to +6.4 points (Table 2)",
        quantity="accuracy at the end less that of plain GRPO",
        effect=against(EVALUATED, ENTROPY_KEPT, "grpo"),
    ),
    Claim(
        statement="The algorithm does not matter: RLOO ends where GRPO does.",
        source=f"{CUI}, Figure 6",
        published="one curve for four algorithms",
        quantity="accuracy at the end, RLOO less GRPO",
        effect=against(EVALUATED, ("rloo",), "grpo"),
        within=0.03,
    ),
    Claim(
        statement="RL narrows the policy: fewer distinct right plans.",
        source=f"{NOTES}; RL Squeezes, SFT Expands, arXiv:2509.21128",
        published="slope of the step graph 2.5 times as steep",
        quantity="fall of the distinct right plans among 16 answers over plain GRPO",
        effect=negative(change("val_distinct_correct", "grpo")),
    ),
    Claim(
        statement="Supervised training on diverse demonstrations widens the policy.",
        source=f"{NOTES}; arXiv:2509.21128",
        published="slope of the step graph a third",
        quantity="rise of the distinct right plans over 200 supervised steps after GRPO",
        effect=stage_change("val_distinct_correct", "sft_after_grpo", 400),
    ),
    Claim(
        statement="Widening by demonstrations costs no accuracy.",
        source=NOTES,
        published="—",
        quantity="accuracy over 200 supervised steps after GRPO, plus 0.03",
        effect=lambda runs: stage_change(EVALUATED, "sft_after_grpo", 400)(runs) + 0.03,
    ),
    Claim(
        statement="One format takes over.",
        source=f"{NOTES}; Echo Chamber, arXiv:2504.07912",
        published="one format within an epoch",
        quantity="rise of the share of the leading strategy over plain GRPO",
        effect=leading_share,
    ),
    Claim(
        statement="Training domain after domain in a good order beats joint training.",
        source=f"{NOTES}; Omni-Thinker, arXiv:2507.14783",
        published="+6.2 %",
        quantity="accuracy on both domains, the better order less joint training",
        effect=both_domains,
    ),
    Claim(
        statement="Imitation first and then RL beats either alone.",
        source=f"{NOTES}; arXiv:2510.25992",
        published="+3.7 points",
        quantity="accuracy after 400 steps, both less the better one alone",
        effect=imitation_first,
    ),
    Claim(
        statement="Token entropy rises while the diversity of answers falls.",
        source=f"{NOTES}; Invisible Leash, arXiv:2507.14843, Table 5",
        published="2 of 5 pairs of models",
        quantity="the smaller of the rise of token entropy and the fall of the strategies' entropy, nats",
        effect=token_up_answer_down,
    ),
    Claim(
        statement="Diversity is lost on unsolved problems, not on solved ones alone.",
        source=f"{NOTES}; arXiv:2509.06941",
        published="4.8 distinct answers for 5.4",
        quantity="fall of log distinct answers to unsolved problems of `chain`, held-out samples",
        effect=narrows_unsolved,
    ),
    Claim(
        statement="RL does not solve what the start cannot: with enough samples the start is ahead.",
        source=f"{NOTES}; arXiv:2504.13837",
        published="pass@256 69.1 → 63.9 % (Omni-MATH)",
        quantity="pass@64 on `chain`, of the start less that after GRPO",
        effect=boundary,
    ),
    Claim(
        statement="A collapsed policy gains less from search.",
        source=NOTES,
        published="—",
        quantity="pass@64 less pass@1, `chain` less the twin whose entropy was minimised",
        effect=gain_of_search,
    ),
    Claim(
        statement="Execution settles, then planning entropy rises.",
        source=f"{NOTES}; arXiv:2509.03646",
        published="3 of 8 models show both phases",
        quantity="rise of planning entropy over its level after half of plain GRPO, nats",
        effect=lambda runs: np.array(
            [
                ends(run, "entropy_planning")[1]
                - at_step(run, "entropy_planning", run.columns["step"][-1] / 2)
                for run in runs["grpo"]
            ]
        ),
    ),
    Claim(
        statement="Training on problems that are too hard breeds shortcuts.",
        source=NOTES,
        published="—",
        missing="a mark of shortcuts for every answer",
    ),
    Claim(
        statement="Training on the 20 % of tokens with the highest entropy is as good as on all.",
        source="arXiv:2506.01939",
        published="+0.5 to +4.1 points",
        missing="an arm that does so, over seeds",
    ),
    Claim(
        statement="RL moves mainly the 20 % of tokens with the highest entropy.",
        source="arXiv:2506.01939, Table 1",
        published="86.7 % of them stay the same",
        missing="the same texts, scored by two checkpoints",
    ),
    Claim(
        statement="Structured tasks lower entropy, creative ones raise it.",
        source=f"{NOTES}; arXiv:2507.14783",
        published="—",
        missing="a domain without one right answer",
    ),
    Claim(
        statement="Rewarding diversity raises quality.",
        source="DARLING, arXiv:2509.02534",
        published="not given",
        missing="an arm with such a reward, over seeds",
    ),
    Claim(
        statement="RL changes 5 to 30 % of the weights.",
        source="arXiv:2505.11711",
        published="5–30 %",
        missing=WEIGHTS,
        in_logs=False,
    ),
    Claim(
        statement="Critique models keep diversity during training.",
        source="arXiv:2411.16579",
        published="in words",
        missing="training with a critic; what it says is in no log",
        in_logs=False,
    ),
    Claim(
        statement="Islands of candidates beat best-of-N because they are diverse.",
        source="Mind Evolution, arXiv:2501.09891",
        published="77.4 → 87.5 %",
        missing="a search without training; it leaves no training log",
        in_logs=False,
    ),
    Claim(
        statement="The base model already reasons.",
        source="arXiv:2510.07364",
        published="up to 91 % of the gap",
        missing="activations and steered runs of the base model",
        in_logs=False,
    ),
)
"""In the order of the page: tested in the lab, without the data, and beyond any log."""
