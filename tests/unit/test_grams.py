"""Grams: reading a list, normalisation, and the tokens that an occurrence covers."""

import re

import numpy as np
import pytest

from entropylaw import InputError
from entropylaw.tokens.grams import (
    match_tokens,
    parse_grams,
    read_grams,
    token_bytes,
    token_notation,
)


def grams_of(*lines):
    return parse_grams("\n".join(lines), "a test")


def found(grams, text):
    """Grams in a text, and what of it they cover, character by character."""
    matches = match_tokens(grams, [c.encode() for c in text])
    names = [grams.grams[g] for g in matches.gram]
    return names, "".join(c if on else "·" for c, on in zip(text, matches.covered, strict=True))


# --- the list


def test_a_list_has_comments_sections_and_each_gram_once(tmp_path):
    path = tmp_path / "grams.txt"
    path.write_text(
        "\ufeff# ours\nSo,  we\tcan\n\n## branching\nLet’s TRY\nlet's try\r\n#wait\n\n## x\nwait\n", "utf-8"
    )
    grams = read_grams(path)
    assert grams.grams == ("so , we can", "let's try", "wait")
    assert grams.words.tolist() == [3, 2, 1]


def test_the_same_grams_have_the_same_fingerprint():
    assert grams_of("wait", "Let’s try").fingerprint == grams_of("let's  try", "WAIT").fingerprint
    assert grams_of("wait").fingerprint != grams_of("wait", "hmm").fingerprint


@pytest.mark.parametrize(
    ("content", "slug", "words"),
    [
        (b"", "grams-empty", "holds no gram"),
        (b"# only a comment\n\n", "grams-empty", "holds no gram"),
        (b"wait\n\xff\xfe\n", "grams-unreadable", "not UTF-8 at byte 5"),
        (b"wait\n---\n", "grams-unreadable", "line 2 .* has 0 words"),
        (b"so " * 33, "grams-unreadable", "line 1 .* has 33 words"),
        ("\n".join(f"g{i}" for i in range(10_001)).encode(), "grams-too-many", "10,001 grams"),
    ],
)
def test_a_file_that_is_not_a_list(tmp_path, content, slug, words):
    path = tmp_path / "grams.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words) as caught:
        read_grams(path)
    assert caught.value.slug == slug


@pytest.mark.parametrize("name", ["missing.txt", ".", "bad\0name"])
def test_a_path_that_is_not_a_file(tmp_path, name):
    with pytest.raises(InputError, match="cannot be read") as caught:
        read_grams(tmp_path / name)
    assert caught.value.slug == "grams-unreadable"


def test_the_default_list_is_short_and_normalised():
    grams = read_grams("default")
    assert 80 <= len(grams.grams) <= 150
    assert 0 < sum(words <= 2 for words in grams.words) < len(grams.grams) / 4
    assert {"let's try", "wait", "alternatively", "on the other hand", "let me check"} <= {*grams.grams}
    assert all(parse_grams(gram, "itself").grams == (gram,) for gram in grams.grams)


# --- what matches


@pytest.mark.parametrize(
    ("gram", "text", "covered"),
    [
        ("let's try", "So LET’S\n\ntry it", "···LET’S\n\ntry···"),
        ("let's try", "So let's, try it", "················"),
        ("let", "let's letter out-let let", "·················let·let"),
        ("try", "trying retry try.", "·············try·"),
        ("first, we", "First , we", "First , we"),
        ("wait", "(wait…)", "·wait··"),
        ("wait", "_wait", "·····"),
        ("naïve idea", "nai\u0308ve idea", "nai\u0308ve idea"),
        ("naïve idea", "naive idea", "··········"),
        ("ｗａｉｔ", "wait", "wait"),
        ("straße", "STRASSE", "STRASSE"),
        ("等等", "让我们等等再说", "···等等··"),
        ("рассмотрим случай", "Рассмотрим случай", "Рассмотрим случай"),
        ("हिन्दी", "हिन्दी", "हिन्दी"),
        ("हिन", "हिन्दी", "······"),
    ],
)
def test_whole_units_match(gram, text, covered):
    names, seen = found(grams_of(gram), text)
    assert seen == covered
    assert set(names) == (set(grams_of(gram).grams) if covered.strip("·") else set())


def test_no_gram_and_no_token():
    assert len(match_tokens(grams_of("wait"), []).covered) == 0


def test_overlapping_occurrences_against_one_search_for_each_gram():
    random = np.random.default_rng(5)
    words = ["a", "b", "c,", "a'b", "."]
    for _ in range(200):
        lines = {" ".join(random.choice(words[:4], random.integers(1, 4))) for _ in range(4)}
        grams = grams_of(*sorted(lines))
        text = " ".join(random.choice(words, 30)).replace(" .", ".").replace(" ,", ",")
        spans = []
        for number, gram in enumerate(grams.grams):
            parts = [re.escape(part) for part in gram.split()]
            pattern = r"\s*".join(parts)
            # All occurrences, overlapping ones too, not inside a longer word.
            for hit in re.finditer(rf"(?<![\w'])(?=({pattern})(?![\w']|(?<=')\w))", text):
                spans.append((-grams.words[number], -len(parts), hit.start(1), hit.end(1), gram))
        covered = np.zeros(len(text), dtype=bool)
        taken, expected = np.zeros(len(text), dtype=bool), []
        for _, _, a, b, gram in sorted(spans):
            covered[a:b] = True
            if not taken[a:b].any():
                taken[a:b] = True
                expected.append((a, gram))
        names, seen = found(grams, text)
        assert names == [gram for _, gram in sorted(expected)]
        assert seen == "".join(c if on else "·" for c, on in zip(text, covered, strict=True))


# --- tokens as tokenizers write them

SENTENCE = "Hmm… let’s try\n\nétape 2 😀 wait"


def test_byte_level_tokens_with_characters_over_several():
    # GPT-2's rule: printable bytes are themselves, the others follow from U+0100 on.
    visible = [b for b in range(256) if 0x21 <= b <= 0x7E or 0xA1 <= b <= 0xAC or b >= 0xAE]
    hidden = [b for b in range(256) if b not in visible]
    single = [chr(b) if b in visible else chr(256 + hidden.index(b)) for b in SENTENCE.encode()]
    assert token_notation(["Ġlet", "me", "Ċ"]) == "byte-level"
    parts = [token_bytes(token, "byte-level") for token in single]
    assert b"".join(parts) == SENTENCE.encode()
    matches = match_tokens(grams_of("let's try", "hmm", "wait"), parts)
    covered = bytes(b for b, on in zip(SENTENCE.encode(), matches.covered, strict=True) if on)
    assert covered.decode() == "Hmmlet’s trywait"


@pytest.mark.parametrize(
    ("token", "notation", "text"),
    [
        # From the vocabulary of GPT-2.
        ("Ġlet", "byte-level", " let"),
        ("Ċ", "byte-level", "\n"),
        ("âĢĻ", "byte-level", "’"),
        ("Ã©", "byte-level", "é"),
        ("<｜end▁of▁sentence｜>", "byte-level", "<｜end▁of▁sentence｜>"),
        ("▁let", "sentencepiece", " let"),
        ("<0x0A>", "sentencepiece", "\n"),
        (" let", "plain", " let"),
    ],
)
def test_bytes_of_tokens(token, notation, text):
    assert token_bytes(token, notation) == text.encode()


def test_notations():
    assert token_notation(["▁let", "s"]) == "sentencepiece"
    assert token_notation([" let", "Ġ", " me"]) == "plain"
    assert token_notation(["let", "me"]) is None
    grams = grams_of("let me try")
    assert not match_tokens(grams, [b"let", b"me", b"try"]).covered.any()
    pieces = [token_bytes(token, "sentencepiece") for token in ("▁let", "▁me", "▁try")]
    assert match_tokens(grams, pieces).covered.all()


@pytest.mark.parametrize(("end", "covered"), [("ing", 0), ("", 4)])
def test_a_gram_ends_with_a_word_and_not_with_a_token(end, covered):
    tokens = [b"so, let", b"'s", b"", b" try" + (b"" if end else b"."), end.encode() or b" it"]
    matches = match_tokens(grams_of("let's try"), tokens)
    assert matches.covered.tolist() == [i < covered for i in range(5)]


def test_bytes_that_are_not_text_stay_one_byte_wide():
    matches = match_tokens(
        grams_of("wait"), [b"\xe2", b"\xf0\x9f", b" wait", b" \xc3\xa9", b"\xff", b" wait"]
    )
    assert (matches.start.tolist(), matches.stop.tolist()) == ([2, 5], [3, 6])


def test_no_gram_reaches_over_a_break():
    tokens = [b"let", b" me", b" try", b" let", b" me"]
    grams = grams_of("let me", "me try")
    cut = np.array([True, False, True, False, False])
    assert match_tokens(grams, tokens, cut).start.tolist() == [0, 3]
    cut = np.array([True, True, False, True, False])
    assert match_tokens(grams, tokens, cut).start.tolist() == [1, 3]
