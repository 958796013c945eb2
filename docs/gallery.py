"""Take the pictures of the README, the guide and the gallery; needs Chromium on the PATH and Pillow.

python docs/gallery.py

The pages are those of ``reports/sample``; the figures are those of ``entropylaw plot`` for the same logs.
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageOps

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.browser.chromium import MISSING, Browser, found  # noqa: E402

SAMPLE = ROOT / "reports" / "sample"
IMAGES = ROOT / "docs" / "images"
LARGEST = 150_000
COLOURS = (256, 128, 64, 32)
LAPTOP, PHONE = 1280, 390
PAPER, LONG, MARGIN = 680, 1009, 57
"""Width and height of A4 at 96 dots per inch within margins of 15 mm, and those margins."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """A picture of the top of a page; ``print`` shows it as it is printed."""

    name: str
    page: str
    width: int
    height: int
    dark: bool = False
    print: bool = False


SHOTS = (
    Shot(name="report", page="runs/clean_start_s0.html", width=LAPTOP, height=800),
    Shot(name="gallery-index", page="index.html", width=LAPTOP, height=1000),
    Shot(name="gallery-index-dark", page="index.html", width=LAPTOP, height=800, dark=True),
    Shot(name="gallery-index-phone", page="index.html", width=PHONE, height=1400),
    Shot(name="gallery-run", page="runs/clean_start_s1.html", width=LAPTOP, height=1400),
    Shot(name="gallery-run-fails", page="runs/grpo_s0.html", width=LAPTOP, height=1200, dark=True),
    Shot(name="gallery-run-phone", page="runs/random_reward.html", width=PHONE, height=1600),
    Shot(name="gallery-run-phone-dark", page="runs/grpo_s0.html", width=PHONE, height=1600, dark=True),
    Shot(name="gallery-run-print", page="runs/grpo_s0.html", width=PAPER, height=LONG, print=True),
)
FIGURES = {"law": "clip_cov_s0", "forecast": "grpo_s0", "phases": "grpo_s0"}


def main() -> None:
    if found() is None:
        sys.exit(MISSING)
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch, Browser(Path(scratch) / "profile") as browser:
        for shot in SHOTS:
            picture = taken(browser, shot, Path(scratch) / "shot.png")
            write(IMAGES / f"{shot.name}.png", reduced(picture))
    for figure, run in FIGURES.items():
        target = IMAGES / f"gallery-{figure}.svg"
        log = f"entropylaw/demo/{run}.csv"
        command = [sys.executable, "-m", "entropylaw", "plot", figure, log, "-o", str(target), "--quiet"]
        subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=True)
        write(target, target.read_bytes())


def taken(browser: Browser, shot: Shot, scratch: Path) -> bytes:
    """The top of a page as PNG."""
    browser.open(
        SAMPLE / shot.page, width=shot.width, height=shot.height, dark=shot.dark, phone=shot.width == PHONE
    )
    if shot.print:
        browser.call("Emulation.setEmulatedMedia", media="print", features=[])
    return browser.screenshot(scratch, whole=False)


def reduced(picture: bytes) -> bytes:
    """The picture with a palette of as many colours as keep it small."""
    whole = Image.open(io.BytesIO(picture)).convert("RGB")
    if whole.width == PAPER:
        whole = ImageOps.expand(whole, MARGIN, "white")
    for colours in COLOURS:
        buffer = io.BytesIO()
        whole.quantize(colours, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
        if buffer.tell() <= LARGEST:
            return buffer.getvalue()
    sys.exit(f"a picture of {buffer.tell()} bytes, expected {LARGEST} at most")


def write(path: Path, data: bytes) -> None:
    """Write a file and report its size."""
    path.write_bytes(data)
    print(f"wrote {path.relative_to(ROOT)}, {len(data) / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
