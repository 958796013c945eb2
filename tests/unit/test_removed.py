"""What earlier versions had: an error says what to use instead."""

from __future__ import annotations

import pytest

import entropylaw
from entropylaw.cli.command import all_settings
from entropylaw.options import REMOVED
from tests.typed import assert_error, typed


@pytest.mark.parametrize("flag", REMOVED)
def test_a_removed_flag_or_setting_names_its_replacement(flag, tmp_path):
    assert_error(typed("compare", "logs", f"{flag}=B", cwd=tmp_path), "removed-option", 2)
    key = flag.removeprefix("--")
    (tmp_path / "entropylaw.toml").write_text(f'{key} = "B"\n')
    done = typed("fit", "logs", cwd=tmp_path)
    assert_error(done, "removed-option", 2)
    assert f"entropylaw.toml sets {key!r}, which was removed" in done.stderr
    assert REMOVED[flag] in done.stderr


def test_no_removed_flag_is_one_of_today():
    for settings in all_settings().values():
        assert not {flag for option in settings.values() for flag in option.flags} & set(REMOVED)


@pytest.mark.parametrize("name", entropylaw._REMOVED)
def test_a_removed_name_names_its_replacement(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'; `entropylaw"):
        getattr(entropylaw, name)


def test_after_two_dashes_there_are_no_flags(tmp_path):
    assert_error(typed("fit", "--", "--by", cwd=tmp_path), "file-not-found", 3)
