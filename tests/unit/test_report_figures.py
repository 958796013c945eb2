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
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Text

from entropylaw import Fit, FitDocument, FitError, Verdict, Why
from entropylaw.arrays import FloatArray
from entropylaw.documents.document import Entry
from entropylaw.report.figures import NAMED, palette, plotting
from entropylaw.report.figures.forecast import forecast_figure
from entropylaw.report.figures.law import law_figure
from entropylaw.report.figures.plotting import figure_bytes
from entropylaw.report.figures.rewards import curves_figure, rewards_figure
from entropylaw.results.result import replace
from tests.conftest import ROOT, clean_environment
from tests.drawing import assert_words_can_be_read
from tests.findings import caution
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


def words_of(figure: Figure) -> list[Text]:
    return [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]


def text_of(figure: Figure) -> str:
    return "\n".join(text.get_text() for text in words_of(figure))


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
    assert NAMED["forecast"].caption(entry).startswith("The reward so far, the step to keep")
    assert [axes.texts[0].get_text() for axes in rewards_figure([replace(entry, reward="a")]).axes] == ["a"]
    with pytest.raises(FitError, match="there is no law: no entropy was given"):
        law_figure(entry)
    with pytest.raises(ValueError, match="no reward has a law"):
        curves_figure([entry])


@pytest.mark.parametrize("make", EVERY)
def test_figures_are_as_wide_as_a_column(make: Callable[[Entry], Figure]) -> None:
    assert make(synthetic()).get_size_inches()[0] == 3.4


def title_of(figure: Figure) -> Text:
    (title,) = (text for text in words_of(figure) if text.get_gid() == "figure-title")
    return title


def test_the_title_is_the_finding_and_red_is_a_run_that_broke() -> None:
    muted, warn = (palette.PALETTE[name].light for name in ("muted", "warn"))
    good, broken = RUNS["by hand"](), RUNS["broken"]()
    weak = run_by_hand(by_hand(verdict=Verdict.undecided, why=Why.slope))
    failing = run_by_hand(by_hand(verdict=Verdict.fails, why=Why.reverse))
    expected = (
        (law_figure(good), "holds (R² 0.98)", muted),
        (law_figure(weak), "undecided: no clear slope (R² 0.98)", muted),
        (law_figure(failing), "fails: reward rises with entropy (R² 0.98)", muted),
        (forecast_figure(good), "rising, 0.768 now", muted),
        (forecast_figure(broken), "broken, 0.0123 now; keep step 40", warn),
    )
    for figure, text, colour in expected:
        assert (title_of(figure).get_text(), title_of(figure).get_color()) == (text, colour)


def test_the_reward_now_and_at_zero_are_marked_with_the_numbers_of_the_screen() -> None:
    figure = law_figure(RUNS["by hand"]())
    (axes,) = figure.axes
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    texts = [text.get_text() for text in words_of(figure)]
    assert "at H = 0: 0.800 [0.771, 0.829]" in texts
    assert "0.768 now" in texts
    assert "entropy H (nats per token)" in texts


@pytest.mark.parametrize("name", RUNS)
def test_a_legend_has_four_entries_at_most_and_the_law_always(name: str) -> None:
    (legend,) = law_figure(RUNS[name]()).legends
    named = [text.get_text().partition(",")[0] for text in legend.get_texts()]
    assert 2 <= len(named) <= 4
    assert "law" in named
    (best, *_) = RUNS[name]().result.law.forms
    assert best.form in named


def test_the_reward_at_zero_of_every_lab_run_is_inside_the_axes_with_its_interval(
    lab_fits: FitDocument,
) -> None:
    fits = [entry.result for entry in lab_fits.runs if entry.result is not None]
    assert len(fits) >= 4
    for fit in fits:
        zero_is_inside(fit)


def zero_is_inside(fit: Fit) -> None:
    figure = law_figure(fit)
    figure.draw_without_rendering()
    (axes,) = figure.axes
    low, high = axes.get_ylim()
    ceiling = fit.law.ceiling
    is_drawn = ceiling.value is not None and not fit.is_broken
    ends = (ceiling.low, ceiling.value, ceiling.high) if is_drawn else ()
    assert all(low < end < high for end in (*ends, fit.state.now.value, *fit.law.reward.tolist()))
    assert any("at H = 0" in text.get_text() for text in axes.texts) == is_drawn
    assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
    # The legend is below the axes and their label, and on the paper.
    (legend,) = figure.legends
    box, label = legend.get_window_extent(), axes.xaxis.label.get_window_extent()
    assert box.y1 <= label.y0 + 1
    assert figure.bbox.y0 <= box.y0
    assert figure.bbox.x0 <= box.x0
    assert box.x1 <= figure.bbox.x1


def drawn_lines(entry: Entry) -> dict[str, FloatArray]:
    """Name of a line → the entropies over which it is drawn."""
    (axes,) = law_figure(entry).axes
    return {str(line.get_label()).partition(",")[0]: line.get_xdata() for line in axes.get_lines()}


def test_of_a_broken_run_nothing_is_drawn_beyond_its_evaluations() -> None:
    broken = RUNS["broken"]()
    (axes,) = law_figure(broken).axes
    assert not any("at H = 0" in text.get_text() for text in axes.texts)
    lines = drawn_lines(broken)
    assert "averaged" not in lines
    assert min(lines["law"]) >= broken.result.law.lowest_entropy
    assert "forecast" not in text_of(forecast_figure(broken))


def test_the_law_goes_through_all_evaluations_and_other_curves_from_now_on() -> None:
    fit = synthetic().result
    assert fit is not None
    for verdict, why in ((Verdict.holds, None), (Verdict.fails, Why.step)):
        law = replace(fit.law, verdict=verdict, why=why)
        run = replace(fit, law=law)
        vars(run)["curve"] = fit.curve
        lines = drawn_lines(run)
        assert max(lines["averaged"]) == pytest.approx(law.entropy_now)
        assert max(lines["law"]) == pytest.approx(law.entropy.max())
        assert min(lines["law"]) == 0
        assert max(lines["reward"]) > 0.9 * law.smoothed_entropy.max()


def test_the_first_evaluations_that_the_answer_rests_on_are_ringed() -> None:
    fit = by_hand()
    (plain,) = law_figure(run_by_hand(fit)).axes
    known = {"dropped": 2, "step": 20.0, "probability": 0.9, "value": 0.8, "low": 0.7, "high": 0.9}
    for changed, rings in ((True, 2), (False, 0)):
        other = replace(fit, findings=(caution("rests-on-first", **known),) if changed else ())
        vars(other)["curve"] = fit.curve
        figure = law_figure(run_by_hand(other))
        (axes,), (legend,) = figure.axes, figure.legends
        named = [text.get_text() for text in legend.get_texts()]
        assert ("off the curve of the others" in named) == changed
        # The grey line, or the rings in its place.
        assert ("reward, smoothed" in named) != changed
        found = [line for line in axes.get_lines() if line.get_label() == "off the curve of the others"]
        assert sum(len(line.get_xdata()) for line in found) == rings
    assert len(plain.get_lines()) == len(axes.get_lines())


def test_several_rewards_have_a_panel_each_in_both_figures() -> None:
    entries = [
        replace(RUNS[name](), reward=f"{name} mean@4", columns=synthetic().columns)
        for name in ("sample", "falling", "few", "by hand")
    ]
    refusal = replace(refused(), reward="nothing")
    for figure, more in ((rewards_figure, 1), (curves_figure, 0)):
        made = figure([*entries, refusal])
        assert_words_can_be_read(made)
        titles = [axes.texts[0].get_text() for axes in made.axes]
        assert titles[:4] == [entry.reward for entry in entries]
        assert titles[4:] == ["actor/entropy (nats)"][:more]
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


def test_a_title_is_left_out_of_a_page_with_its_room() -> None:
    svg = figure_bytes(forecast_figure(synthetic()), "svg", "s").decode()
    size = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    inside = re.search(r'viewBox="0 ([\d.]+) ([\d.]+) ([\d.]+)"', palette.inline(svg, "r1", "title", "text"))
    assert size
    assert inside
    assert float(inside[1]) == pytest.approx(72 * plotting.LINE, abs=0.01)
    assert float(inside[1]) + float(inside[3]) == pytest.approx(float(size[2]), abs=0.01)
    assert "figure-title" in svg
    assert "figure-title" not in palette.inline(svg, "r1", "title", "text")


def test_a_title_is_whole_and_as_wide_as_the_figure() -> None:
    run = run_by_hand(by_hand(verdict=Verdict.undecided, why=Why.curve, law={"r_squared": 0.99999}))
    lines = []
    for width in (2.0, 3.4, 6.9):
        with plotting.layout(width=width):
            title = title_of(law_figure(run)).get_text()
        assert title.replace("\n", " ") == "undecided: another curve of H fits better (R² > 0.999)"
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


def test_a_forecast_shows_its_interval_and_the_step_to_keep() -> None:
    words = text_of(forecast_figure(synthetic()))
    assert "forecast, 95 % interval" in words
    assert "keep step 390, the last" in words
    words = text_of(forecast_figure(RUNS["broken"]()))
    assert "keep step 40, better than the last with P > 0.99" in words


def test_a_run_that_is_too_short_has_its_series_without_a_forecast() -> None:
    few = synthetic("few", n=6)
    assert "forecast" not in text_of(forecast_figure(few))
    assert NAMED["forecast"].caption(few) == "The reward and the entropy so far."
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
