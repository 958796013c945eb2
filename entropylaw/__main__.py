"""``python -m entropylaw``, and the ``entropylaw`` command."""

import sys
import warnings

from entropylaw.reproducible import fix_arithmetic


def main() -> None:
    """Start the command line; an interrupt while it is still being imported ends it as quietly as later."""
    if not sys.warnoptions:
        # What numpy warns of is for us to handle, or to say in a sentence. `python -W default` shows it.
        warnings.simplefilter("ignore")
    try:
        fix_arithmetic()
        from entropylaw.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
