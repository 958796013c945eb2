"""The same input gives the same bytes: twelve digits, one arithmetic on one thread, no choice by rounding."""

import json
import os
import subprocess
import sys

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from entropylaw import Estimate, fit_logs, load
from entropylaw.cli.output import rendered
from entropylaw.documents.codec import as_stored, decode, dumps, encode
from entropylaw.reproducible import ARITHMETIC, rounded
from tests.conftest import LAB, ROOT, clean_environment
from tests.laws import phases_of
from tests.typed import started

finite = st.floats(allow_nan=False, allow_infinity=False)
LOG = LAB / "grpo_s1" / "metrics.parquet"


@given(number=finite)
@example(number=5e-324)
@example(number=1.7976931348623157e308)
@example(number=1234567890123.5)
@example(number=9999999999999998.0)
def test_twelve_digits_are_enough_for_themselves(number):
    once = rounded(number)
    assert rounded(once) == once
    assert once == pytest.approx(number, rel=1e-11, abs=5e-324)
    assert len(repr(once).split("e")[0].strip("-0.").replace(".", "")) <= 12 or once.is_integer()


@given(one=finite, other=finite)
@example(one=2.0**53, other=2.0**53 + 2)
@example(one=1e16 - 2, other=1e16)
@example(one=1234567890123.0, other=1234567890123.5)
def test_rounding_keeps_the_order(one, other):
    assert (rounded(one) <= rounded(other)) or one > other


@given(step=st.integers(-(2**53), 2**53))
def test_whole_steps_are_kept(step):
    assert rounded(float(step)) == step


def test_there_is_no_negative_zero():
    assert dumps(encode([-0.0, -1e-400])) == dumps([0.0, 0.0])


@given(value=finite, low=finite, high=finite)
def test_a_document_read_and_written_again_has_the_same_bytes(value, low, high):
    low, value, high = sorted((value, low, high))
    text = dumps(encode(Estimate(value=value, low=low, high=high, level=0.95, method="x")))
    again = decode(Estimate, json.loads(text))
    assert dumps(encode(again)) == text
    assert as_stored(again) == again


def test_a_fresh_fit_and_its_document_look_alike_in_every_format(tmp_path):
    fresh = fit_logs([LOG])
    (tmp_path / "x.json").write_text(dumps(fresh.to_json()), encoding="utf-8")
    stored = load(tmp_path / "x.json", "fit")
    for format in ("text", "json", "csv", "markdown"):
        assert rendered(stored, format) == rendered(fresh, format)
    assert stored._repr_html_() == fresh._repr_html_()


def test_the_command_computes_alike_on_every_processor(tmp_path):
    """Two kernels of OpenBLAS, one and two threads, with and without the newest instructions."""
    told = {
        subprocess.run(
            [sys.executable, "-m", "entropylaw", "fit", str(LOG), "-o", "-", "--format", "json"],
            env={k: v for k, v in clean_environment().items() if k not in ARITHMETIC} | environment,
            cwd=tmp_path,
            check=True,
            capture_output=True,
        ).stdout
        for environment in (
            {"OPENBLAS_CORETYPE": "Haswell", "OPENBLAS_NUM_THREADS": "2"},
            {"OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "AVX512F X86_V4"},
        )
    }
    assert len(told) == 1


def test_the_tests_compute_as_the_command_does():
    assert ARITHMETIC.items() <= os.environ.items()


def test_rounding_errors_choose_no_decay():
    table = pq.read_table(LAB / "diverging" / "metrics.parquet", columns=["step", "entropy_execution"])
    step, series = table.to_pandas().dropna().to_numpy(dtype=float).T
    shaken = series * (1.0 + 1e-15 * np.random.default_rng(1).standard_normal(series.size))
    one, other = (encode(as_stored(phases_of(step, execution=each))) for each in (series, shaken))
    assert dumps(one) == dumps(other)


PROGRAM = """
import numpy as np, threadpoolctl, entropylaw
from entropylaw.engine import reads
def threads():
    return {library["num_threads"] for library in threadpoolctl.threadpool_info()}
entropylaw.fit
threadpoolctl.threadpool_limits(3)
seen, real = [], reads.np.exp
reads.np.exp = lambda *given, **more: seen.append(threads()) or real(*given, **more)
step = np.arange(20.0)
entropy = real(-step / 9)
entropylaw.fit(entropy=entropy, reward=0.6 - 0.2 * real(entropy) + 0.01 * np.sin(3 * step), step=step)
print(threads(), set.union(*seen))
"""


def test_a_call_uses_one_thread(tmp_path):
    done = started(sys.executable, "-c", PROGRAM, cwd=tmp_path, env={"PYTHONPATH": str(ROOT), "PATH": ""})
    assert (done.stdout, done.stderr) == ("{3} {1}\n", "")
