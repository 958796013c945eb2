"""What earlier versions had: an error says what to use instead."""

from __future__ import annotations

import pytest

import entropylaw
from entropylaw.cli.command import all_settings
from entropylaw.removed import FLAGS, NAMES, SETTINGS
from tests.typed import assert_error, typed


@pytest.mark.parametrize("flag", FLAGS)
def test_a_removed_flag_names_its_replacement(flag, tmp_path):
    done = typed("compare", "logs", f"{flag}=B", cwd=tmp_path)
    assert_error(done, "removed-option", 2)
    assert FLAGS[flag] in done.stderr


@pytest.mark.parametrize("key", [*SETTINGS, *(flag.removeprefix("--") for flag in FLAGS)])
def test_a_removed_setting_names_its_replacement(key, tmp_path):
    (tmp_path / "entropylaw.toml").write_text(f'unknown = 1\n{key} = "B"\n')
    done = typed("fit", "logs", cwd=tmp_path)
    assert_error(done, "removed-option", 2)
    assert f"entropylaw.toml sets {key!r}, which was removed" in done.stderr
    assert (SETTINGS | FLAGS).get(key, FLAGS.get(f"--{key}")) in done.stderr


def test_no_removed_flag_is_one_of_today():
    for settings in all_settings().values():
        assert not {flag for option in settings.values() for flag in option.flags} & FLAGS.keys()
        assert not settings.keys() & SETTINGS.keys()


@pytest.mark.parametrize("name", NAMES)
def test_a_removed_name_names_its_replacement(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; `entropylaw"):
        getattr(entropylaw, name)


def test_after_two_dashes_there_are_no_flags(tmp_path):
    assert_error(typed("fit", "--", "--by", cwd=tmp_path), "file-not-found", 3)
