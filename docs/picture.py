"""Take the README's picture of the report anew; needs Chromium on the PATH and Pillow.

python docs/picture.py
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parent.parent
TARGET = ROOT / "docs" / "images" / "report.png"
WIDTH, HEIGHT, SHOWN = 1000, 2400, 1400


def main() -> None:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        sys.exit("no Chromium on the PATH")
    with tempfile.TemporaryDirectory() as folder:
        log = "data/lab/clean_start_s0/metrics.parquet"
        command = [sys.executable, "-m", "entropylaw", "report", log, "-o", folder, "--figures", "none", "-q"]
        subprocess.run(command, cwd=ROOT, check=True)
        shot = Path(folder) / "shot.png"
        subprocess.run(
            [
                *(chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"),
                *("--disable-background-networking", f"--user-data-dir={folder}/profile"),
                *(f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={shot}"),
                (Path(folder) / "runs" / "clean_start_s0.html").as_uri(),
            ],
            check=True,
            capture_output=True,
        )
        picture = Image.open(shot).convert("RGB").crop((0, 0, WIDTH - 15, SHOWN))
        TARGET.parent.mkdir(exist_ok=True)
        picture.save(TARGET, optimize=True)
    print(f"wrote {TARGET.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
