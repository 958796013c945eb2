"""Segments of a run between seams: the law in each, and tests that several laws are one."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.linalg import block_diag
from scipy.special import fdtrc

from entropylaw.analysis.course import Course, course_for
from entropylaw.analysis.fitting import Evaluations, fit_law, usable
from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law import checked_level
from entropylaw.analysis.propagate import infer_run
from entropylaw.analysis.residual import covariances
from entropylaw.analysis.residual_models import ResidualModel, residual_model
from entropylaw.arguments import as_floats
from entropylaw.engine.grid import FloatArray
from entropylaw.engine.posterior import infer
from entropylaw.errors import FitError, UsageError
from entropylaw.results.findings import note
from entropylaw.results.groups import SameTest, Segment, SegmentFit
from entropylaw.results.posterior import Posterior


def fit_segments(
    step: Any,
    entropy: Any,
    reward: Any,
    seams: Sequence[float],
    *,
    level: float = 0.95,
    interval: str = "drift",
    eval_size: int | None = None,
    entropy_sd: Any = None,
    run: str = "run",
) -> SegmentFit:
    """Fit the law between seams, and test whether it is the same law.

    Parameters
    ----------
    step, entropy, reward
        Shape (n,); steps strictly increasing, values finite.
    seams
        Steps at which something changed. The first evaluation at or after a seam belongs to the new
        segment. They are used as they are given, in any order; two in one gap count once.
    level, interval, eval_size, entropy_sd
        As for :func:`~entropylaw.analysis.fitting.fit_law`.
    run
        Name; segments are called by it and their number.

    Raises
    ------
    UsageError
        ``bad-seam``: not between the first step (excluded) and the last one.

    Notes
    -----
    The test is Chow's (1960, doi:10.2307/1910133) with a drift that runs on across the seams: for a given
    residual covariance the differences of (ceiling, a) to the first segment give an F statistic, and its
    p-value is averaged over the covariances. Without drift it is the textbook F test. Segments that are
    too short to be fitted are left out of it.
    """
    level, model = checked_level(level), residual_model(interval)
    known = usable(entropy, reward, step, entropy_sd, model, keep_outliers=True)
    s, marks = known.step, as_floats(seams, "seams")
    outside = marks[~((marks > s[0]) & (marks <= s[-1]))]
    if outside.size:
        raise UsageError(
            "bad-seam",
            f"seam at step {outside[0]:g}, expected a step after {s[0]:g} and not after {s[-1]:g}",
            "give the first step of the new segment",
        )
    starts = sorted(set(np.searchsorted(s, marks).tolist()))
    parts = [known.only(slice(first, end), {}) for first, end in pairwise([0, *starts, s.size])]
    segments: list[Segment] = []
    fitted = []
    for part in parts:
        law, refusal = None, None
        try:
            law = fit_law(
                part.entropy,
                part.reward,
                part.step,
                level=level,
                interval=interval,
                eval_size=eval_size,
                entropy_sd=part.entropy_sd,
                run=f"{run}, segment {len(segments) + 1}",
            )
            fitted.append(part)
        except FitError as error:
            refusal = error.message
        first, last = part.step[[0, -1]].tolist()
        segments.append(Segment(first_step=first, last_step=last, n=part.step.size, law=law, refusal=refusal))
    same, left = None, len(parts) - len(fitted)
    findings = [note("segments-left-out", left=left, segments=len(parts))] if left else []
    if len(fitted) > 1:
        same = _same_law(fitted, model, eval_size)
    else:
        findings = [note("too-few-segments", fitted=len(fitted), segments=len(parts))]
    at = tuple(s[starts].tolist())
    return SegmentFit(seams=at, segments=tuple(segments), same=same, findings=tuple(findings))


def _same_law(parts: Sequence[Evaluations], model: ResidualModel, eval_size: int | None) -> SameTest:
    """One residual for the whole run, coefficients of its own for every segment."""
    # Each segment is smoothed by itself: a smooth curve over the run would round the seam off.
    courses = [course_for(model, part.entropy, part.step, part.entropy_sd) for part in parts]
    s, r = (np.concatenate(each) for each in zip(*((p.step, p.reward) for p in parts), strict=True))
    root = block_diag(*(each.root for each in courses)).reshape(s.size, -1)
    course = Course(entropy=np.concatenate([each.entropy for each in courses]), root=root)
    x = design(law_column(course.entropy))
    columns = blocks(x, np.repeat(np.arange(len(parts)), [part.step.size for part in parts]))
    grid = covariances(s, course.entropy, r, model.name, eval_size)
    law = infer_run(s, course, r, grid, model.name)
    grid = grid if law is None else law.blurred(grid)
    posterior, same = (infer(s, each[None], r[None], grid)[0] for each in (columns, x))
    return difference_test(
        posterior,
        same,
        np.eye(columns.shape[1])[2:],
        hypothesis=f"all {len(parts)} segments have the same a and b",
        method=f"Chow test ({model.method})",
    )


def blocks(x: FloatArray, group: Any) -> FloatArray:
    """Design (n, 2k) with coefficients for group 0, and differences to it for the other k − 1 groups."""
    return np.column_stack([x, *[x * (group == i)[:, None] for i in range(1, int(group.max()) + 1)]])


def difference_test(
    posterior: Posterior, same: Posterior, rows: FloatArray, *, hypothesis: str, method: str
) -> SameTest:
    """F test that ``rows @ β`` is 0, rows of shape (q, p), averaged over the residual covariances.

    ``same`` is the posterior without the differences, over the same grid; its weights are used. Weights
    of the larger model would take slow drift for differences: it is the smaller one that is on trial.
    """
    location = posterior.coefficient @ rows.T
    scale = rows @ posterior.covariance @ rows.T
    q = len(rows)
    each = np.einsum("gi,gi->g", location, np.linalg.solve(scale, location[:, :, None])[:, :, 0]) / q
    free = posterior.df if np.isfinite(posterior.df) else 1e9
    return SameTest(
        hypothesis=hypothesis,
        statistic=float(same.weight @ each),
        df1=float(q),
        df2=float(free),
        p_value=float(same.weight @ fdtrc(q, free, each)),
        method=method,
    )


def welch_test(mean: FloatArray, scale: FloatArray, df: FloatArray, *, hypothesis: str) -> SameTest:
    """Welch–James test that k runs have the same d coefficients, each run with its own variance.

    Parameters
    ----------
    mean, scale
        Shapes (k, d) and (k, d, d): each run's estimates and their squared scale.
    df
        Shape (k,): degrees of freedom of each run's residual variance; infinite where it is known.
    hypothesis
        What is tested, in words.

    Notes
    -----
    T = Σ (m_i − m)ᵀ C_i⁻¹ (m_i − m) about the weighted mean m is compared with c·F(q, f), q = d(k − 1);
    c and f allow for every C_i being estimated (Johansen 1980, doi:10.1093/biomet/67.1.85). For d = 1 it
    is Welch's (1951) test. Where all variances are known f is given as 10⁹, and the test is χ².
    """
    k, d = mean.shape
    weight = np.linalg.inv(scale)
    total = np.linalg.inv(weight.sum(axis=0))
    away = mean - total @ np.einsum("kij,kj->i", weight, mean)
    statistic = float(np.einsum("ki,kij,kj->", away, weight, away))
    lack = np.eye(d) - total @ weight
    traces = np.einsum("kij,kji->k", lack, lack) + np.einsum("kii->k", lack) ** 2
    cost = 0.5 * float((traces / df).sum())
    q = float(d * (k - 1))
    df2 = q * (q + 2.0) / (3.0 * cost) if cost > 0 else 1e9
    statistic /= q + 2.0 * cost - 6.0 * cost / (q + 2.0)
    return SameTest(
        hypothesis=hypothesis,
        statistic=statistic,
        df1=q,
        df2=df2,
        p_value=float(fdtrc(q, df2, statistic)),
        method="Welch–James test, each run with its own residual",
    )
