"""Inference of the law in a run: smoothed entropy, residual covariances, posterior.

A logged entropy is measured on one batch of samples. Against a residual that may drift, a fit trusts fast
changes more than slow ones, and the fast changes of H are mostly noise, which reward does not follow: the
drift absorbs the whole trend, and a is estimated near 0 (see ``docs/decisions.md``). So the law is
fitted to a smooth curve through the logged values, whose errors are part of the model.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from entropylaw.analysis.forms import design, law_column
from entropylaw.analysis.law.covariances import covariances
from entropylaw.analysis.law.residual_models import ResidualModel, residual_model
from entropylaw.arrays import FloatArray
from entropylaw.engine.errors_in_variables import uncertain_posteriors
from entropylaw.engine.posterior import infer, least_squares
from entropylaw.engine.prior import ErrorCovariance, Grid, first_best
from entropylaw.results.law import LawFit
from entropylaw.results.posterior import SHARPEST, Posterior

MOST_PIECES = 24
"""Most B-splines in the curve."""

FEWEST = 10
"""Fewest evaluations that are smoothed: with fewer, noise and curve are not identified apart."""

_PENALTIES = np.geomspace(1e-6, 1e8, 57)

NEGLIGIBLE = 0.02
"""Components of the smoothing error are in the model if they change the reward, by the least-squares law, by
more than this share of the residual's mean square. Including all changed no interval by a hundredth of its
width."""

CURVED, EXACT = 0.1, 1e-4
"""Error in the reward up to which exp(H) may be replaced by its tangent, in standard errors of a mean: a
residual standard deviation over √n. The second is for entropies that are not smoothed."""


_MOST_KEPT = 50_000
"""Most evaluations of a run whose basis is kept for the next run with the same steps."""

_PART = 4000
"""Evaluations whose splines are computed together."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SmoothedEntropy:
    """The smoothed ``entropy`` (n,) of one run, nats, or of several with one more axis in front.

    ``root @ rootᵀ`` with ``root`` (n, k) is its covariance given the log; k may be 0. ``noise`` is
    the standard deviation of logged minus smoothed entropy, nats; None where it is used as logged, and for
    several runs.
    """

    entropy: FloatArray
    root: FloatArray
    noise: float | None = None


def entropy_for_model(
    model: ResidualModel, entropy: FloatArray, step: FloatArray, sd: FloatArray | None = None
) -> SmoothedEntropy:
    """The entropy (n,) that a residual model fits the law to: smoothed or as logged, with its covariance."""
    if model.smooths_entropy:
        smoothed = smooth_entropy(entropy, step, sd)
        if np.ptp(smoothed.entropy) > 0:
            return smoothed
    return _as_logged(entropy, sd)


def _as_logged(entropy: FloatArray, sd: FloatArray | None) -> SmoothedEntropy:
    """The entropy as it was logged, with the sd of each value (n,) where it is known."""
    return SmoothedEntropy(entropy=entropy, root=np.empty((entropy.size, 0)) if sd is None else np.diag(sd))


def smooth_entropy(
    entropy: FloatArray, step: FloatArray | None = None, sd: FloatArray | None = None
) -> SmoothedEntropy:
    """Smooth the entropy over the evaluations.

    A penalised spline (Eilers & Marx 1996, doi:10.1214/ss/1038425655): cubic B-splines on even knots,
    second differences penalised, the penalty's weight by restricted maximum likelihood. Departure from
    the source: they choose it by cross-validation. The spline runs over the number of the evaluation or,
    where steps are uneven and the marginal likelihood is larger so, over the step. If no logged entropy is
    negative, no smoothed one is. The covariance is the spline's as a mixed model (Wahba 1983,
    doi:10.1111/j.2517-6161.1983.tb01239.x), with penalty and noise at their estimates.

    ``entropy`` (n,), nats, is in the order of ``step`` (n,), which is even where not given. ``sd`` (n,),
    nats, is the noise of each value where it is known; it is estimated, the same for all, where it is not.
    """
    if entropy.size < FEWEST:
        return _as_logged(entropy, sd)
    several = smooth_entropies(entropy[None], step, None if sd is None else sd[None])
    smooth = several.entropy[0]
    return SmoothedEntropy(entropy=smooth, root=several.root[0], noise=float(np.std(entropy - smooth)))


def smooth_entropies(
    entropy: FloatArray, step: FloatArray | None = None, sd: FloatArray | None = None
) -> SmoothedEntropy:
    """Each of several runs smoothed, shapes (runs, n) as ``entropy``; n at least :data:`FEWEST`.

    ``sd`` as for :func:`smooth_entropy`, shape (runs, n).
    """
    number = np.linspace(0.0, 1.0, entropy.shape[1])
    smooth, root, evidence = _smoothed(entropy, number, sd)
    if step is not None:
        time = (step - step[0]) / (step[-1] - step[0])
        uneven = not np.allclose(time, number, rtol=0.0, atol=1e-9)
        # After a long gap a spline may be zero at every evaluation, so that its coefficient is unknown.
        if uneven and _every_spline_known(time):
            other, other_root, other_evidence = _smoothed(entropy, time, sd)
            better = (other_evidence < evidence)[:, None]
            smooth, root = np.where(better, other, smooth), np.where(better[..., None], other_root, root)
    never_negative = entropy.min(axis=1, keepdims=True) >= 0
    return SmoothedEntropy(entropy=np.where(never_negative, np.maximum(smooth, 0.0), smooth), root=root)


def _every_spline_known(time: FloatArray) -> bool:
    """Whether evaluations at ``time`` (n,) determine the coefficients of all splines."""
    splines = _cubic_splines(time, min(time.size // 2, MOST_PIECES))
    return bool(np.abs(np.diag(np.linalg.qr(splines, mode="r"))).min() > 1e-3)


def _smoothed(
    entropy: FloatArray, time: FloatArray, sd: FloatArray | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Curves over ``time`` with the best penalty: as :func:`_penalised`."""
    if sd is None:
        # The basis of a very long run is not kept: it is as large as all that the fit needs.
        find = _basis if time.size <= _MOST_KEPT else _basis.__wrapped__
        basis, roughness = find(time.tobytes(), np.ones(time.size).tobytes())
        return _penalised(entropy, basis, roughness, None)
    each = []
    for values, noise in zip(entropy, sd, strict=True):
        # Divided by its noise, up to a factor, each value has the same noise; the curve is scaled back.
        typical = float(np.sqrt(np.mean(noise**2)))
        scale = noise / typical
        basis, roughness = _basis(time.tobytes(), (1.0 / scale).tobytes())
        curve, root, evidence = _penalised((values / scale)[None], basis, roughness, typical)
        each.append((curve[0] * scale, root[0] * scale[:, None], evidence[0]))
    return tuple(np.array(parts) for parts in zip(*each, strict=True))  # type: ignore[return-value]


def _penalised(
    entropy: FloatArray, basis: FloatArray, roughness: FloatArray, known: float | None
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Ridge regression on an orthonormal basis (n, k); ``known`` is the noise's sd, where it is known.

    Returns curves (runs, n), roots of their covariance (runs, n, k), −2 log restricted likelihood (runs,).
    """
    n = entropy.shape[1]
    # A straight line is not penalised: subtracting the mean first, and adding it back, costs no digits.
    centre = np.zeros((len(entropy), 1)) if known else entropy.mean(axis=1, keepdims=True)
    score = (entropy - centre) @ basis
    kept = 1.0 / (1.0 + _PENALTIES[:, None] * roughness)
    outside = np.maximum(((entropy - centre) ** 2).sum(axis=1) - (score**2).sum(axis=1), 0.0)
    misfit = outside[:, None] + score**2 @ (1.0 - kept).T
    penalised = roughness > 1e-9 * roughness.max()
    evidence = misfit / known**2 if known else (n - 2) * np.log(misfit + np.finfo(float).tiny)
    evidence = evidence - np.log1p(-kept[:, penalised]).sum(axis=1)
    best = first_best(-evidence)
    row = np.arange(len(best))
    variance = np.full(len(best), known**2) if known else misfit[row, best] / (n - 2)
    root = basis * np.sqrt(variance[:, None] * kept[best])[:, None, :]
    return centre + (kept[best] * score) @ basis.T, root, evidence[row, best]


@lru_cache(maxsize=32)
def _basis(times: bytes, weights: bytes) -> tuple[FloatArray, FloatArray]:
    """Orthonormal basis (n, k) of the splines times ``weights`` in which the penalty is diagonal.

    ``times`` are in [0, 1]; both have shape (n,). The second array is that diagonal, shape (k,).
    """
    time, weight = np.frombuffer(times), np.frombuffer(weights)
    pieces = min(time.size // 2, MOST_PIECES)
    ortho, triangle = np.linalg.qr(weight[:, None] * _cubic_splines(time, pieces))
    penalty = np.linalg.solve(triangle.T, np.diff(np.eye(pieces), n=2, axis=0).T)
    left, singular, _ = np.linalg.svd(penalty, full_matrices=True)
    roughness = np.zeros(pieces)
    roughness[: singular.size] = singular**2
    return ortho @ left, roughness


def _cubic_splines(time: FloatArray, pieces: int) -> FloatArray:
    """Uniform cubic B-splines over [0, 1], shape (n, pieces)."""
    spacing, found = 1.0 / (pieces - 3), np.empty((time.size, pieces))
    # A part of the run at a time: the arrays in between are larger than the result.
    for start in range(0, time.size, _PART):
        part = slice(start, start + _PART)
        distance = np.abs(time[part, None] / spacing - (np.arange(pieces) - 1.0))
        inner = 2.0 / 3.0 - distance**2 * (1.0 - distance / 2.0)
        outer = np.clip(2.0 - distance, 0.0, None) ** 3 / 6.0
        found[part] = np.where(distance < 1.0, inner, outer)
    return found


def residual_covariances(law: LawFit) -> Grid:
    """The residual covariances that a law was fitted with, those of errors in the entropy included."""
    smoothed = entropy_for_model(residual_model(law.interval), law.entropy, law.step, law.entropy_sd)
    return infer_run(law.step, smoothed, law.reward, law.interval, law.eval_size)[0]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class LawInference:
    """The law of b runs, errors in the entropy in the model.

    ``posteriors`` are of (ceiling, a); ``likely`` (b, n) are the entropies as the reward corrects them;
    ``root`` (b, n, k) are the components of the smoothing error that affect the reward, times exp(H).
    """

    posteriors: Posterior
    likely: FloatArray
    root: FloatArray


def infer_law(
    step: FloatArray,
    entropy: FloatArray,
    root: FloatArray,
    rewards: FloatArray,
    grid: Grid,
    *,
    curved: float = CURVED,
) -> LawInference:
    """Fit the law to b runs with the same steps, errors in the entropy in the same model.

    R = c − a·(exp(H) − 1) + drift + noise with H = ``entropy`` + ``root`` · u and u standard normal. exp(H)
    is replaced by its tangent, at the smoothed entropy or, where that is too far from the most probable H,
    there; :mod:`entropylaw.engine.errors_in_variables` infers a and u.

    ``entropy`` (b, n) is in nats, ``root`` (b, n, k) the square roots of its covariances; k may be 0.
    ``step`` (n,), ``rewards`` (b, n) and ``grid`` are as for :func:`entropylaw.engine.posterior.infer`,
    ``curved`` is :data:`CURVED` or :data:`EXACT`.
    """
    designs = design(law_column(entropy))
    if not root.shape[2]:
        posteriors = infer(step, designs, rewards, grid)
        return LawInference(posteriors=posteriors, likely=entropy, root=root)
    slope, variance = _slope_and_variance(designs, rewards)
    at, most = entropy, curved * np.sqrt(variance / step.size)[:, None]
    for _ in range(20):
        steep = np.exp(at)
        tangent = design(law_column(at) - steep * (at - entropy))
        posteriors, u = uncertain_posteriors(step, tangent, -steep[:, :, None] * root, rewards, grid)
        likely = entropy + np.einsum("bnk,bk->bn", root, u)
        far = (0.5 * np.abs(slope)[:, None] * steep * (likely - at) ** 2 > most).any(axis=1)
        if not far.any():
            break
        at = np.where(far[:, None], likely, at)
    return LawInference(posteriors=posteriors, likely=likely, root=steep[:, :, None] * root)


def infer_run(
    step: FloatArray,
    smoothed: SmoothedEntropy,
    reward: FloatArray,
    interval: str,
    eval_size: int | None,
    grid: Grid | None = None,
) -> tuple[Grid, LawInference | None]:
    """The residual covariances of one run, and the law in it where errors in its entropy matter.

    The covariances include those of the errors, for forms that take them as known. Where errors do not
    matter the law is None: it then is a form like the others. Of a smoothed entropy's errors only those that
    affect the reward are in the model; of logged values all, linearised as exactly as odrpack does. Arguments
    are as for :func:`covariances`; with ``grid`` the covariances are those.
    """
    grid = covariances(step, smoothed.entropy, reward, interval, eval_size) if grid is None else grid
    entropy, root, rewards = smoothed.entropy[None], smoothed.root[None], reward[None]
    smooth = residual_model(interval).smooths_entropy
    root, curved = (relevant_errors(entropy, root, rewards), CURVED) if smooth else (root, EXACT)
    if not root.size:
        return grid, None
    inferred = infer_law(step, entropy, root, rewards, grid, curved=curved)
    total, law = sum(grid.now), inferred.posteriors[0]
    share = np.maximum(grid.noise / total, SHARPEST) if grid.relative_to_last else 1.0
    variance = law.variance / (total * share)
    errors = ErrorCovariance(root=inferred.root[0], slope=law.coefficient[:, 1], variance=variance)
    return replace(grid, errors=errors), inferred


def relevant_errors(entropy: FloatArray, root: FloatArray, rewards: FloatArray) -> FloatArray:
    """The columns of ``root`` (b, n, k) that matter to some run, and 0 for runs to which they do not.

    A column matters by :data:`NEGLIGIBLE`; the other shapes are as for :func:`infer_law`.
    """
    if not root.shape[2]:
        return root
    slope, variance = _slope_and_variance(design(law_column(entropy)), rewards)
    effect = (slope**2 / variance)[:, None] * np.einsum("bn,bnk,bnk->bk", np.exp(2.0 * entropy), root, root)
    matters = effect > NEGLIGIBLE
    some = matters.any(axis=0)
    found = root[:, :, some]
    found *= matters[:, None, some]
    return np.asarray(found)


def _slope_and_variance(designs: FloatArray, rewards: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slope and residual variance of each run by least squares, both of shape (b,)."""
    _, triangle, along, residual = least_squares(designs, rewards)
    variance = np.maximum((residual**2).mean(axis=1), np.finfo(float).tiny)
    return along[:, -1] / triangle[:, -1, -1], variance
