"""``python -m entropylaw``."""

from entropylaw.cli import main

main()
