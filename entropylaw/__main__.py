"""``python -m entropylaw``, and the ``entropylaw`` command."""

import gc
import sys
import warnings

from entropylaw.reproducible import fix_arithmetic
from entropylaw.version import __version__

OBJECTS = 100_000
"""New objects after which a search for garbage starts."""


def main() -> None:
    """Start the command line; an interrupt during its import ends it as quietly as later ones."""
    if sys.argv[1:] == ["--version"] and sys.stdout is not None:
        # Without typer, whose import takes longer than the rest.
        try:
            print(f"entropylaw {__version__}", flush=True)
            return
        except OSError:
            pass  # The command line reports it.
    if not sys.warnoptions:
        # Warnings of numpy are handled, or reported in a sentence. `python -W default` shows them.
        warnings.simplefilter("ignore")
    # A command is short, and most of its objects are modules that stay: by default a tenth of its time would
    # go into looking for garbage among them, half of that at its end, when the system takes all memory back.
    gc.set_threshold(OBJECTS)
    try:
        fix_arithmetic()
        from entropylaw.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)
    finally:
        gc.freeze()


if __name__ == "__main__":
    main()
