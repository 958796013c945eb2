"""``python -m entropylaw``, and the ``entropylaw`` command."""

import sys
import warnings

from entropylaw.reproducible import fix_arithmetic


def main() -> None:
    """Start the command line; an interrupt during its import ends it as quietly as later ones."""
    if not sys.warnoptions:
        # Warnings of numpy are handled, or reported in a sentence. `python -W default` shows them.
        warnings.simplefilter("ignore")
    try:
        fix_arithmetic()
        from entropylaw.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
