"""Write the golden transcripts anew: all of them, or those that are named."""

import sys

from entropylaw.reproducible import fix_arithmetic

# Before numpy is imported: the transcripts are those of the command.
fix_arithmetic()

from tests.golden.kept import NAMES, kept, played, stale  # noqa: E402


def main(names: list[str]) -> None:
    unknown = [name for name in names if name not in NAMES]
    if unknown:
        sys.exit(f"no case {unknown[0]!r}; there are {', '.join(NAMES)}")
    for name in names or NAMES:
        path, text = kept(name), played(name)
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")
            print(f"wrote {path.name}")
    for path in stale():
        path.unlink()
        print(f"removed {path.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
