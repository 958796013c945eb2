"""``python -m entropylaw``, and the ``entropylaw`` command."""

import sys

from entropylaw.reproducible import fix_arithmetic


def main() -> None:
    """Start the command line; an interrupt while it is still being imported ends it as quietly as later."""
    try:
        fix_arithmetic()
        from entropylaw.cli import main as command_line

        command_line()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
