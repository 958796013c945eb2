"""Damaged copies of the samples. A case is a text, ``kind/sample/number``, and can be made again from it."""

import random
from collections.abc import Callable, Mapping

from tests.fuzz.corpus import Sample, samples
from tests.fuzz.hostile_files import hostile

#: What readers stumble over: ends, quotes, brackets, escapes, numbers without end, bytes that are no text.
SPICE = (
    *(b"\0", b"\n", b"\r", b"\r\n", b'"', b"'", b"''", b'""', b",", b";", b"\t", b"{", b"}", b"[", b"]"),
    b":",
    *(b"\\", b"\\u", b"\\ud800", b"\x1b", b"\x1b[A", b"\x1b[36m", b"\xff", b"\xc3\x28", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xe2\x94\x82", b"\xe2\x80\xa6", b"\xe2\x80\xa8", b"\xcc\x81", b"\x85"),
    *(b"-", b"-1", b"0", b"1e999", b"-1e999", b"1e-999", b"nan", b"inf", b"-Infinity", b"null", b"None"),
    *(b"9" * 20, b"9" * 400, b"9" * 5000, b"0." + b"0" * 400 + b"1", b"1e" + b"9" * 30, b"1_000", b"0x1f"),
    *(b"{" * 300, b"[" * 3000, b'{"a":' * 1500, b"(" * 3000, b"'" * 1001, b" " * 5000, b"\n" * 500),
    b"a" * 5000,
    *(b"step", b"step:", b"step:3 - ", b"Step 7 | ", b"Step 3\n", b"step 4: {'", b"{'", b"': "),
    b'{"step": 4, ',
    *(b"tensor(", b"np.float64(", b"global_step", b"%|", b"| 3/9 [", b"<td>", b"</table>"),
    b"Train step 3/9 done.",
    *(b"\x80" * 12, b"\x7f\xff\xff\xff", b"\xff" * 8, b"\0" * 64, b"PAR1", b"\x1f\x8b", b"\x28\xb5\x2f\xfd"),
)


def _flip(data: bytearray, chance: random.Random, _: bytes) -> None:
    """Turn bits over."""
    for _number in range(chance.choice((1, 1, 1, 5, 50))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _edit(data: bytearray, chance: random.Random, _: bytes) -> None:
    """Delete, double, exchange and invent stretches of bytes."""
    for _number in range(chance.choice((1, 1, 2, 8))):
        at = chance.randrange(len(data) + 1)
        end = at + chance.choice((1, 1, 2, 7, 64, len(data) // 4))
        match chance.randrange(4):
            case 0:
                del data[at : min(end, at + len(data) - 1)]
            case 1:
                data[at:at] = data[at:end]
            case 2:
                data[at:at] = chance.randbytes(end - at)
            case _:
                data[at:end] = chance.randbytes(len(data[at:end]))


def _splice(data: bytearray, chance: random.Random, other: bytes) -> None:
    """Exchange stretches with another sample's."""
    for _number in range(chance.choice((1, 1, 2, 4))):
        at, start = chance.randrange(len(data)), chance.randrange(len(other))
        length = chance.choice((8, 100, 1000, len(other)))
        data[at : at + chance.choice((0, length))] = other[start : start + length]


def _spice(data: bytearray, chance: random.Random, _: bytes) -> None:
    """Put in what readers stumble over, in place of something or between."""
    for _number in range(chance.choice((1, 1, 2, 6))):
        at, what = chance.randrange(len(data) + 1), chance.choice(SPICE)
        data[at : at + chance.choice((0, 0, 1, len(what)))] = what


def _digits(data: bytearray, chance: random.Random, _: bytes) -> None:
    """Change digits and signs only, so that the file stays one of its format."""
    places = [at for at, byte in enumerate(data) if byte in b"0123456789"]
    for at in chance.choices(places or [0], k=chance.choice((1, 3, 20))):
        data[at] = chance.choice(b"0123456789012345678901234567890123456789-.e,")


_KINDS: Mapping[str, Callable[[bytearray, random.Random, bytes], None]] = {
    "flip": _flip,
    "edit": _edit,
    "splice": _splice,
    "spice": _spice,
    "digits": _digits,
}
#: A file is cut at every so much of its length; one that is another one's packed copy, at every 1/16.
PARTS = 64


def cases(count: int) -> list[str]:
    """Name so many cases: cuts up to a quarter of them, and the rest at random."""
    every = samples()
    plain = [name for name in every if not _is_copy(name)]
    cuts = [
        f"cut/{name}/{part}"
        for name in every
        for part in range(1, PARTS)
        if not _is_copy(name) or part % (PARTS // 16) == 0
    ]
    random.Random(0).shuffle(cuts)
    found = cuts[: count // 4]
    chance = random.Random(1)
    while len(found) < count:
        name = chance.choice(plain if chance.random() < 0.7 else list(every))
        found.append(f"{chance.choice(list(_KINDS))}/{name}/{len(found)}")
    return found


def _is_copy(name: str) -> bool:
    return name.endswith((".gz", ".zst", ".bz2", "-utf16"))


def damaged(case: str) -> tuple[Sample, bytes]:
    """Make a case: the sample, and the bytes of its damaged file."""
    kind, name, number = case.split("/")
    if kind == "hostile":
        sample = hostile()[name]
        return sample, sample.data
    sample = samples()[name]
    if kind == "cut":
        return sample, sample.data[: len(sample.data) * int(number) // PARTS]
    chance = random.Random(int(number))
    other = samples()[chance.choice(list(samples()))]
    data = bytearray(sample.data)
    _KINDS[kind](data, chance, other.data)
    return sample, bytes(data)
