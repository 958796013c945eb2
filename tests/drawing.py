"""What tests of figures share: the words that are drawn, and that they can be read."""

from itertools import combinations

from matplotlib.figure import Figure
from matplotlib.text import Text

from entropylaw.report.figures import plotting


def drawn_words(figure: Figure) -> list[Text]:
    """The words of a figure but for the numbers of its axes."""
    with plotting.style():
        figure.canvas.draw()
    labels = {
        label for axes in figure.axes for axis in (axes.xaxis, axes.yaxis) for label in axis.get_ticklabels()
    }
    return [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible() and t not in labels]


def assert_words_can_be_read(figure: Figure) -> None:
    """They are on the paper, large enough, and none lies on another."""
    paper = figure.bbox
    words = drawn_words(figure)
    boxes = [(word.get_text(), word.get_window_extent()) for word in words]
    assert min(float(word.get_fontsize()) for word in words) >= 7.0
    for text, box in boxes:
        assert paper.x0 - 1 <= box.x0 <= box.x1 <= paper.x1 + 1, text
        assert paper.y0 - 1 <= box.y0 <= box.y1 <= paper.y1 + 1, text
    for (one, a), (other, b) in combinations(boxes, 2):
        assert not a.padded(-1.5).overlaps(b.padded(-1.5)), (one, other)


def contrast(one: str, other: str) -> float:
    """Contrast of two colours by WCAG 2: 1 for the same, 21 for black on white."""

    def luminance(colour: str) -> float:
        parts = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        red, green, blue = (x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return bright / dark
