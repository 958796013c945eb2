"""The figures: the same bytes always, nothing outside the paper, text that can be read."""

import ast
import hashlib
import re
import sys
from collections.abc import Callable
from functools import cache, partial
from itertools import combinations, product

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from entropylaw import FitError
from entropylaw.documents.document import Entry, FitDocument
from entropylaw.report.figures import NAMED, palette, plotting
from entropylaw.report.figures.forecast import forecast_figure
from entropylaw.report.figures.law import law_figure
from entropylaw.report.figures.plotting import figure_bytes
from entropylaw.report.figures.rewards import rewards_figure
from entropylaw.report.numbers import format_interval, format_number
from entropylaw.results import Verdict, Why
from entropylaw.results.result import replace
from tests.conftest import ROOT, clean_environment
from tests.drawing import assert_words_can_be_read
from tests.typed import started
from tests.unit.test_report_samples import (
    by_hand,
    falling,
    lost_by_hand,
    refused,
    run_by_hand,
    synthetic,
    without_entropy,
)

EVERY: list[Callable[[Entry], Figure]] = [law_figure, forecast_figure]
# Fitted by the tests and not here: every process that runs tests imports every file of them.
RUNS: dict[str, Callable[[], Entry]] = {
    "sample": synthetic,
    "falling": falling,
    "few": partial(synthetic, "few", n=6),
    "flat": partial(synthetic, "flat", h0=0.05),
    "exact": partial(synthetic, "exact", noise=1e-6),
    "many": partial(synthetic, "many", n=2500, noise=0.03),
    "by hand": lambda: run_by_hand(by_hand()),
    "broken": lambda: run_by_hand(by_hand(state=lost_by_hand())),
}


def text_of(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in figure.findobj(Text) if text.get_visible())


@cache
def sample(make: Callable[[Entry], Figure], salt: str = "s") -> str:
    """The figure of the sample run in our style."""
    return figure_bytes(make(synthetic()), "svg", salt).decode()


@pytest.mark.parametrize(
    ("make", "name"),
    list(product(EVERY, RUNS)),
    ids=lambda value: getattr(value, "__name__", value),
)
def test_words_are_on_the_paper_large_enough_and_apart(make: Callable[[Entry], Figure], name: str) -> None:
    assert_words_can_be_read(make(RUNS[name]()))


def test_a_run_without_an_entropy_has_its_reward_alone() -> None:
    entry = without_entropy()
    figure = forecast_figure(entry)
    assert_words_can_be_read(figure)
    (axes,) = figure.axes
    assert axes.get_xlabel() == "step"
    assert "entropy" not in text_of(figure)
    assert NAMED["forecast"].caption(entry).startswith("The reward, with the step to keep")
    (panel,) = rewards_figure([replace(entry, reward="a")]).axes
    assert "a" in [text.get_text() for text in panel.texts]
    with pytest.raises(FitError, match="there is no law: no entropy was given"):
        law_figure(entry)


@pytest.mark.parametrize("make", EVERY)
def test_figures_are_as_wide_as_a_column(make: Callable[[Entry], Figure]) -> None:
    assert make(synthetic()).get_size_inches()[0] == 3.4


def title_of(figure: Figure) -> Text:
    """The first words of a figure."""
    return figure.texts[0]


def test_the_title_is_the_finding_and_its_colour_is_trouble() -> None:
    muted, ink, warn, fine = (palette.PALETTE[name].light for name in ("muted", "ink", "warn", "fine"))
    good, broken = RUNS["by hand"](), RUNS["broken"]()
    weak = run_by_hand(by_hand(verdict=Verdict.undecided, why=Why.line))
    failing = run_by_hand(by_hand(verdict=Verdict.fails, why=Why.reverse))
    expected = (
        (law_figure(good), "follows the law, R² 0.98", ink),
        (law_figure(weak), "a line in H fits no worse, R² 0.98", ink),
        (law_figure(failing), "reward rises with entropy, R² 0.98", ink),
        (law_figure(broken), "broken: nothing is said of the law", ink),
        (forecast_figure(good), "rising: 0.768 at step 90", fine),
        (forecast_figure(broken), "broken: the reward is lost since step 70", warn),
        (
            forecast_figure(synthetic("few", n=6)),
            "state not known: it needs 8 evaluations",
            muted,
        ),
    )
    for figure, text, colour in expected:
        title = title_of(figure)
        assert title.get_text().replace("\n", " ") == text
        assert title.get_color() == colour


def test_the_reward_at_zero_has_the_numbers_of_the_screen_and_curves_have_their_names() -> None:
    figure = law_figure(RUNS["by hand"]())
    axes = figure.axes[0]
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    assert [text.get_text() for text in axes.texts] == ["at H = 0: 0.800 [0.771, 0.829]", "law"]
    assert figure.axes[1].get_xlabel() == "entropy H (nats per token)"


@pytest.mark.parametrize("name", RUNS)
def test_no_figure_of_a_run_has_a_legend_and_the_law_is_named_always(name: str) -> None:
    entry = RUNS[name]()
    named = [text.get_text() for text in law_figure(entry).axes[0].texts]
    assert "law" in named
    best = entry.result.law.forms[0].form
    assert (best in named) == (best == "law" or not entry.result.is_broken)
    for make in EVERY:
        figure = make(entry)
        assert not figure.legends
        assert not any(axes.get_legend() for axes in figure.axes)


def test_the_reward_at_zero_of_every_lab_run_is_inside_the_axes_with_its_interval(
    lab_fits: FitDocument,
) -> None:
    fits = [entry.result for entry in lab_fits.runs if entry.result is not None]
    assert len(fits) >= 4
    for fit in fits:
        figure = law_figure(fit)
        axes = figure.axes[0]
        low, high = axes.get_ylim()
        ceiling = fit.law.ceiling
        is_narrow = fit.law.why is Why.narrow
        is_drawn = ceiling.value is not None and not fit.is_broken and not is_narrow
        ends = (ceiling.low, ceiling.value, ceiling.high) if is_drawn else ()
        assert all(low < end < high for end in (*ends, *fit.law.reward.tolist()))
        assert any("at H = 0" in text.get_text() for text in axes.texts) == is_drawn
        assert (axes.get_xlim()[0] < 0) == is_drawn
        assert_words_can_be_read(figure)
        assert_words_can_be_read(forecast_figure(fit))


def drawn_lines(entry: Entry) -> dict[str, np.ndarray]:
    """Name of a curve → the entropies over which it is drawn."""
    lines = law_figure(entry).axes[0].get_lines()
    return {str(line.get_label()): line.get_xdata() for line in lines}


def test_of_a_broken_run_nothing_is_drawn_beyond_its_evaluations_and_what_is_lost_is_marked() -> None:
    broken = RUNS["broken"]()
    lines = drawn_lines(broken)
    assert set(lines) >= {"law"}
    assert "rate" not in lines
    assert min(lines["law"]) >= broken.result.law.lowest_entropy
    # There are no reward at H = 0 and no band of the average.
    axes = law_figure(broken).axes[0]
    assert not any("at H = 0" in text.get_text() for text in axes.texts)
    assert not any(isinstance(each, PolyCollection) for each in axes.collections)
    above, below = forecast_figure(broken).axes
    assert "lost" in [text.get_text() for text in above.texts]
    for axes in (above, below):
        (stretch,) = [patch for patch in axes.patches if patch.get_alpha() == 0.1]
        assert stretch.get_x() == broken.result.state.since
        # There is no fan.
        assert not axes.collections


def test_all_curves_go_through_all_evaluations_to_zero() -> None:
    fit = synthetic().result
    assert fit is not None
    for verdict, why in ((Verdict.holds, None), (Verdict.fails, Why.step)):
        law = replace(fit.law, verdict=verdict, why=why)
        run = replace(fit, law=law)
        vars(run)["curve"] = fit.curve
        for entropies in (line for name, line in drawn_lines(run).items() if name[0] != "_"):
            assert max(entropies) == pytest.approx(law.entropy.max())
            assert min(entropies) == 0


def test_the_strip_has_the_residuals_of_the_law() -> None:
    fit = synthetic().result
    law = fit.law
    axes, strip = law_figure(fit).axes
    (drawn,) = [line for line in axes.get_lines() if line.get_label() == "law"]
    entropies = np.exp(drawn.get_xdata())
    rewards = drawn.get_ydata()
    slope = (rewards[-1] - rewards[0]) / (entropies[-1] - entropies[0])
    expected = law.reward - (rewards[0] + slope * (np.exp(law.entropy) - entropies[0]))
    offsets = np.asarray(strip.collections[0].get_offsets())
    assert offsets[:, 0] == pytest.approx(law.entropy)
    assert offsets[:, 1] == pytest.approx(expected, abs=1e-9)
    # The line that is drawn is the mean of the law, and the coefficients that are printed are medians.
    assert rewards == pytest.approx(law.b.value - law.a.value * entropies, abs=1e-4)


def test_several_rewards_have_a_panel_each() -> None:
    entries = [
        replace(RUNS[name](), reward=f"{name} mean@4", columns=synthetic().columns)
        for name in ("sample", "falling", "few", "by hand")
    ]
    refusal = replace(refused(), reward="nothing")
    made = rewards_figure([*entries, refusal])
    assert_words_can_be_read(made)
    named = [text.get_text() for axes in made.axes for text in axes.texts]
    titles = [*(entry.reward for entry in entries), "actor/entropy (nats)"]
    assert [text for text in named if text in titles] == titles
    assert len(made.axes) == len(titles)
    assert len({axes.get_xlim() for axes in made.axes}) == 1
    with pytest.raises(ValueError, match="no reward"):
        rewards_figure([refusal])


def test_the_forecast_of_every_reward_is_inside_of_the_axis_they_share() -> None:
    entries = [replace(RUNS[name](), reward=name) for name in ("sample", "broken")]
    last = entries[0].result.forecast.step[-1]
    assert last > entries[1].result.evaluations[0][-1]
    assert all(axes.get_xlim()[1] > last for axes in rewards_figure(entries).axes)


def test_a_grid_of_axes_has_room_for_every_name() -> None:
    figure = Figure(figsize=(7.2, 5.4), layout="constrained")
    for axes, name in zip(figure.subplots(2, 2).flat, ("sample", "falling", "few", "by hand"), strict=True):
        RUNS[name]().result.plot(axes)
    figure.draw_without_rendering()
    frames = [axes.get_tightbbox() for axes in figure.axes]
    for one, other in combinations(frames, 2):
        assert not one.padded(-1).overlaps(other.padded(-1))


def test_a_title_is_whole_and_as_wide_as_the_figure() -> None:
    run = run_by_hand(by_hand(verdict=Verdict.undecided, why=Why.curve, law={"r_squared": 0.99999}))
    lines = []
    for width in (1.6, 3.4, 6.9):
        with plotting.layout(width=width):
            title = title_of(law_figure(run)).get_text()
        assert title.replace("\n", " ") == "bends away from the law, R² > 0.999"
        lines.append(title.count("\n") + 1)
    assert lines[0] > lines[-1] == 1


@pytest.mark.parametrize(("kind", "name"), [("svg", "sample"), ("png", "sample"), ("pdf", "many")])
def test_same_bytes_whatever_the_user_s_settings(kind: plotting.Kind, name: str) -> None:
    run = RUNS[name]()
    first = figure_bytes(law_figure(run), kind, "salt")
    with mpl.rc_context({"font.size": 20, "axes.facecolor": "black", "svg.fonttype": "none"}):
        before = mpl.rcParams["font.size"]
        second = figure_bytes(law_figure(run), kind, "salt")
        assert mpl.rcParams["font.size"] == before
    assert first == second
    assert b"atplotlib v" not in first
    assert b"Date" not in first


def test_points_of_long_runs_become_an_image() -> None:
    svg = figure_bytes(law_figure(synthetic("many", n=2500, noise=0.03)), "svg", "s").decode()
    assert "data:image/png" in svg
    assert len(svg) < 200_000
    assert "<image" not in sample(law_figure)


def test_ids_depend_on_the_salt() -> None:
    one, other = (set(re.findall(r'<clipPath id="([^"]*)"', sample(law_figure, salt))) for salt in "ab")
    assert one
    assert not one & other


def test_a_standalone_svg_has_no_outside_address() -> None:
    svg = sample(law_figure)
    assert svg.startswith("<svg ")
    assert not re.search(r"https?://", re.sub(r'xmlns(:\w+)?="[^"]*"', "", svg))


def test_strange_letters_do_not_reach_the_font() -> None:
    assert plotting.shown("a\n日 $x$ é") == "a?? $x$ é"


def digests() -> list[str]:
    """Every figure of the sample in every format, by its digest."""
    kinds: tuple[plotting.Kind, ...] = ("svg", "png", "pdf")
    return [
        hashlib.sha256(figure_bytes(make(synthetic()), kind, make.__name__)).hexdigest()
        for make, kind in product(EVERY, kinds)
    ]


def test_same_bytes_in_any_order_and_process() -> None:
    program = (
        "from tests.unit import test_report_figures as here; here.EVERY.reverse(); print(here.digests())"
    )
    done = started(sys.executable, "-c", program, cwd=ROOT, env=clean_environment() | {"PYTHONHASHSEED": "1"})
    assert done.returncode == 0, done.stderr
    there = ast.literal_eval(done.stdout)
    assert len(set(there)) == 3 * len(EVERY)
    assert sorted(there) == sorted(digests())


def test_many_figures_under_one_style_are_as_they_are_alone() -> None:
    with plotting.style():
        together = [figure_bytes(make(synthetic()), "svg", "s").decode() for make in EVERY]
    assert together == [sample(make) for make in EVERY]


def test_labels_of_panels_stand_in_one_line() -> None:
    figure = forecast_figure(synthetic())
    with plotting.style():
        figure.canvas.draw()
    upper, lower = (axes.yaxis.label.get_window_extent() for axes in figure.axes)
    assert upper.x0 == pytest.approx(lower.x0, abs=0.5)
    for axes in figure.axes:
        low, high = axes.get_ylim()
        shown = [label for label in axes.get_yticklabels() if low <= label.get_position()[1] <= high]
        assert len(shown) > 2
        widest = min(label.get_window_extent().x0 for label in shown)
        assert axes.yaxis.label.get_window_extent().x1 < widest


@pytest.mark.parametrize("make", EVERY)
def test_every_colour_of_an_inlined_figure_follows_the_page(make: Callable[[Entry], Figure]) -> None:
    svg = sample(make)
    inside = palette.inline(svg, "r1", "title", "description")
    assert "var(--ink,#1b1f24)" in inside
    assert not re.findall(r"(?:fill|stroke):#[0-9a-f]+", inside)
    assert not re.search(r"[#(]rgb", inside)
    kept = palette.inline(svg, "r1", "title", "description", follow=False)
    assert "var(" not in kept
    assert re.sub(r"var\(--[\w-]+,(#[0-9a-f]{6})\)", r"\1", inside) == kept


def test_a_forecast_shows_the_numbers_of_its_end_and_the_step_to_keep() -> None:
    entry = synthetic()
    ahead = entry.result.forecast
    texts = [text.get_text() for text in forecast_figure(entry).axes[0].texts]
    shown = format_interval(ahead.rewards[-1]).replace("[", "").replace("]", "").replace(",", "").split()
    assert texts[:3] == shown
    assert texts[3] == f"keep step 390: {format_number(entry.result.keep.level)}"
    broken = [text.get_text() for text in forecast_figure(RUNS["broken"]()).axes[0].texts]
    assert broken == ["keep step 40: 0.751", "lost"]


def test_a_run_that_is_too_short_has_its_series_without_a_forecast() -> None:
    few = synthetic("few", n=6)
    # There is no fan.
    assert not forecast_figure(few).axes[0].collections
    assert NAMED["forecast"].caption(few) == "The reward and the entropy."
    with pytest.raises(ValueError, match="no figures"):
        law_figure(refused())


@pytest.mark.parametrize("n", [40, 200, 300, 301])
def test_every_evaluation_is_drawn(n: int) -> None:
    axes = Figure().add_subplot()
    x = np.arange(float(n))
    plotting.dots(axes, x, x, size=2.0, color=plotting.colour("ink"), alpha=1.0, zorder=1)
    if n <= plotting.MOST_VECTOR_POINTS:
        (drawn,) = axes.findobj(PathPatch, include_self=False)[:1]
        starts = drawn.get_path().vertices[::2]
    else:
        starts = axes.collections[0].get_offsets()
    assert np.asarray(starts).tolist() == np.column_stack([x, x]).tolist()
    assert axes.dataLim.x1 == pytest.approx(n - 1)
