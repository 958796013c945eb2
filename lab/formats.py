"""A run as other tools would have left it, made from its ``metrics.parquet``.

- ``verl``: ``verl.jsonl``, by verl's ``file`` logger
- ``console``: ``verl_console.log``, what verl prints
- ``trl``: ``trainer_state.json``, by TRL's GRPOTrainer through transformers
- ``wandb``: ``wandb/offline-run-<run>/run-<run>.wandb``, an offline run of W&B
- ``tensorboard``: ``events.out.tfevents.0.lab``
- ``clearml``: ``clearml_scalars.json``, what ``Task.get_reported_scalars`` of ClearML returns
- ``ui``: ``wandb_ui_entropy.csv`` and ``wandb_ui_val_acc.csv``, charts exported from W&B's page

Row t of the lab holds batch and evaluation of the policy *before* update t. A trainer counts from 1 and
evaluates after the update: its step s holds the batch of row s - 1 and the evaluation of row s, its step 0 an
evaluation alone. verl's and TRL's logs are shifted so, and have no use for the batch of the last row. The
trackers (W&B, TensorBoard) take what they are given, which here is the lab's own rows, names and steps.

A metric that the lab does not measure is in none of the logs; a null is left out, not written as 0 or nan.
"""

from __future__ import annotations

import csv
import importlib
import json
import math
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from pprint import pformat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from lab.task import DOMAINS

Row = dict[str, Any]

# verl takes the divergence while it updates, the lab takes it before.
_VERL_UPDATE = {
    "actor/kl_loss": "kl_to_start",
    "actor/pg_clipfrac": "clip_fraction",
    "actor/grad_norm": "grad_norm",
}
_VERL_BATCH = {
    "critic/score/mean": "reward_mean",
    "critic/rewards/mean": "reward_mean",
    "response_length/mean": "response_length",
}
_TRL_TRAIN = {
    "clip_ratio/region_mean": "clip_fraction",
    "completions/mean_length": "response_length",
    "entropy": "entropy",
    "grad_norm": "grad_norm",
    "kl": "kl_to_start",
    "reward": "reward_mean",
    "rewards/lab_reward/mean": "reward_mean",
}
_TRL_EVAL = {
    "eval_entropy": "val_entropy",
    "eval_reward": "val_acc",
    "eval_rewards/lab_reward/mean": "val_acc",
}


def write_formats(folder: Path, names: Sequence[str], out: Path | None = None) -> list[Path]:
    """Write a finished run in other formats.

    Parameters
    ----------
    folder
        The run's folder; its name is the run's name.
    names
        Of ``verl``, ``console``, ``trl``, ``wandb``, ``tensorboard``, ``ui``.
    out
        The target folder; by default the folder of ``metrics.parquet``.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    ValueError
        If a name is not a format; nothing is written then.
    ModuleNotFoundError
        If W&B or TensorBoard is requested and not installed.

    """
    unknown = [name for name in names if name not in _FORMATS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not a format; there are {', '.join(_FORMATS)}")
    table = pq.read_table(folder / "metrics.parquet")
    run = safe_id(folder.resolve().name)
    written = []
    for name in dict.fromkeys(names):
        write, files = _FORMATS[name]
        for file in files:
            path = (out or folder) / file.format(run=run)
            path.parent.mkdir(parents=True, exist_ok=True)
            write(table, path)
            written.append(path)
    return written


def safe_id(name: str) -> str:
    """A name as a W&B run id: letters, digits, ``_``, ``-`` and ``.``, anything else a ``-``."""
    return re.sub(r"[^A-Za-z0-9_.-]", "-", name)


def write_verl(table: pa.Table, path: Path) -> None:
    """Write the lines of verl's FileLogger: ``{"step":1,"data":{"actor/entropy":0.5,…}}``, an object each.

    From ``verl/utils/tracking.py``, where orjson writes it: without blanks, in full precision, nan as null.
    ``val-core/<data>/acc/mean@<n>`` is on the line of the update before it; the line of step 0 comes from
    verl's ``trainer.val_before_train``.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for step, metrics in _verl_steps(table):
            data = {key: value if math.isfinite(value) else None for key, value in metrics.items()}
            file.write(json.dumps({"step": step, "data": data}, separators=(",", ":")) + "\n")


def write_verl_console(table: pa.Table, path: Path) -> None:
    """Write what verl prints: ``step:1 - actor/entropy:0.5 - actor/grad_norm:np.float64(0.2) - …``.

    From ``verl/utils/logger/aggregate_logger.py`` since v0.5.0: ``pprint.pformat`` of each value, which under
    NumPy 2 shows which metrics went through ``np.mean``. Older versions printed three decimals. The metrics
    are those of :func:`write_verl`.
    """
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for step, metrics in _verl_steps(table):
            pairs = [f"step:{step}", *(f"{key}:{pformat(value)}" for key, value in metrics.items())]
            file.write(" - ".join(pairs) + "\n")


def _verl_steps(table: pa.Table) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield verl's steps with their metrics, in verl's order."""
    validation = _verl_validation(table)
    for before, after in _updates(table):
        metrics = _named(before, {"actor/entropy": "entropy"})
        metrics |= _averaged(_named(before, _VERL_UPDATE)) | _averaged(_named(after, validation))
        if before:
            # Every prompt is new, so the first epoch never ends.
            metrics |= {"training/global_step": after["step"], "training/epoch": 0}
            metrics |= _named(before, _VERL_BATCH)
        if metrics:
            yield after["step"], metrics


def _verl_validation(table: pa.Table) -> dict[str, str]:
    """Return verl's keys of the accuracy and their columns.

    verl evaluates each data set by itself, so the mean over several domains has no key. The n of ``mean@n``
    is the largest k of the table's pass@k, which is all answers to a prompt unless a run changes that.
    """
    names = set(table.column_names)
    data = {f"lab/{domain}": f"val_acc_{domain}" for domain in DOMAINS if f"val_acc_{domain}" in names}
    counts = [int(name.removeprefix("val_pass")) for name in names if re.fullmatch(r"val_pass\d+", name)]
    n = max(counts, default=1)
    return {
        f"val-core/{source}/acc/mean@{n}": column for source, column in (data or {"lab": "val_acc"}).items()
    }


def write_trl(table: pa.Table, path: Path) -> None:
    """Write the ``trainer_state.json`` of TRL's GRPOTrainer with ``logging_steps=1`` and ``eval_on_start``.

    The keys at the top are those of transformers' ``TrainerState``, sorted, as its ``save_to_json`` writes
    them; those of ``log_history`` are those of ``trl/trainer/grpo_trainer.py``. Each update has an entry. So
    has each evaluation, which repeats the step of the update that it follows; its ``eval_entropy`` is of the
    policy that it evaluates. In two things TRL would differ: it takes ``entropy`` while it updates, and
    counts a step for every minibatch.
    """
    last = max(table["step"].to_pylist())
    flags = ("should_epoch_stop", "should_evaluate", "should_log", "should_save", "should_training_stop")
    control = {flag: flag in ("should_save", "should_training_stop") for flag in flags}
    state = {
        **dict.fromkeys(("best_global_step", "best_metric", "best_model_checkpoint")),
        **dict.fromkeys(("train_batch_size", "trial_name", "trial_params")),
        "epoch": 1.0,
        "eval_steps": _evaluated_every(table),
        "global_step": last,
        "is_hyper_param_search": False,
        "is_local_process_zero": True,
        "is_world_process_zero": True,
        "log_history": list(_trl_entries(table, last)),
        "logging_steps": 1,
        "max_steps": last,
        "num_input_tokens_seen": 0,
        "num_train_epochs": 1,
        "save_steps": 500,
        "stateful_callbacks": {"TrainerControl": {"args": control, "attributes": {}}},
        "total_flos": 0.0,
    }
    path.write_text(json.dumps(state, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def _trl_entries(table: pa.Table, last: int) -> Iterator[Row]:
    for before, after in _updates(table):
        when = {"step": after["step"], "epoch": after["step"] / max(last, 1)}
        for metrics in (_named(before, _TRL_TRAIN), _named(after, _TRL_EVAL)):
            if metrics:
                yield metrics | when


def _evaluated_every(table: pa.Table) -> int | None:
    steps = [row["step"] for row in table.to_pylist() if row.get("val_acc") is not None]
    return steps[1] - steps[0] if len(steps) > 1 else None


def write_wandb(table: pa.Table, path: Path) -> None:
    """Write an offline W&B run with the ``wandb`` package: ``run.log`` of every row, without its nulls.

    ``path`` is ``run-<id>.wandb``. W&B writes into a scratch folder, and only that file of it is kept: the
    debug logs name paths. The file names no host, user, program, package list or repository. It does hold the
    versions of Python and wandb, the platform (``linux-x86_64``), random record ids and the time of writing,
    which no setting keeps out: so this is the one format that is not the same bytes when made again.
    """
    wandb = _lab_extra("wandb")
    run_id = path.stem.removeprefix("run-")
    with tempfile.TemporaryDirectory() as scratch, _no_wandb_environment(scratch):
        settings = wandb.Settings(
            console="off",
            disable_code=True,
            disable_git=True,
            # W&B fills in the machine's name where this is None.
            host="",
            save_code=False,
            silent=True,
            symlink=False,
            # These three write the record of the machine: host, user, program, arguments, hardware.
            x_disable_machine_info=True,
            x_disable_meta=True,
            x_disable_stats=True,
            x_save_requirements=False,
        )
        run = wandb.init(
            mode="offline", dir=scratch, project="lab", id=run_id, name=run_id, settings=settings
        )
        for row in table.to_pylist():
            step = row.pop("step")
            run.log({name: value for name, value in row.items() if value is not None}, step=step)
        run.finish()
        # Its service process keeps files in the scratch folder open until here.
        wandb.teardown()
        (left,) = Path(scratch).rglob("*.wandb")
        shutil.move(left, path)


@contextmanager
def _no_wandb_environment(scratch: str) -> Iterator[None]:
    """Hide the user's ``WANDB_…`` variables, whose entity, tags and notes would go into the file."""
    kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("WANDB_")}
    ours = {f"WANDB_{kind}_DIR": scratch for kind in ("CACHE", "CONFIG", "DATA")}
    os.environ.update(ours)
    try:
        yield
    finally:
        for name in ours:
            os.environ.pop(name, None)
        os.environ.update(kept)


def write_tensorboard(table: pa.Table, path: Path) -> None:
    """Write a TensorBoard event file: an event a number, its tag the column, as ``add_scalar`` does it.

    Events and record framing are the ``tensorboard`` package's; values are float32, as TensorBoard has them.
    The time of an event is its step in seconds, so the same table gives the same bytes.
    """
    events = _lab_extra("tensorboard.compat.proto.event_pb2")
    summaries = _lab_extra("tensorboard.compat.proto.summary_pb2")
    records = _lab_extra("tensorboard.summary.writer.record_writer")
    with path.open("wb") as file:
        writer = records.RecordWriter(file)
        writer.write(events.Event(file_version="brain.Event:2").SerializeToString(deterministic=True))
        for row in table.to_pylist():
            step = row.pop("step")
            for tag, value in row.items():
                if isinstance(value, (int, float)):
                    summary = summaries.Summary(value=[summaries.Summary.Value(tag=tag, simple_value=value)])
                    event = events.Event(step=step, wall_time=float(step), summary=summary)
                    writer.write(event.SerializeToString(deterministic=True))


def write_clearml(table: pa.Table, path: Path) -> None:
    """Write the scalars of a run by title and series, which are one word each where a name has no slash."""
    scalars: dict[str, dict[str, dict[str, Any]]] = {}
    for row in table.to_pylist():
        step = row.pop("step")
        for name, value in row.items():
            if isinstance(value, (int, float)):
                curve = {"name": name, "x": [], "y": []}
                points = scalars.setdefault(name, {}).setdefault(name, curve)
                points["x"].append(step)
                points["y"].append(value)
    path.write_text(json.dumps(scalars), encoding="utf-8")


def write_ui(table: pa.Table, path: Path) -> None:
    """Write what W&B's page gives for a chart with one run: ``wandb_ui_<metric>.csv``, every cell in quotes.

    The columns are ``Step`` and the run's metric three times, the second and third time as ``__MIN`` and
    ``__MAX``, which differ from it only where the page has grouped runs. Only steps that have the metric are
    there. The page prints numbers as JavaScript does. The run is called as its folder.
    """
    metric, run = path.stem.removeprefix("wandb_ui_"), path.resolve().parent.name
    name = f"{run} - {metric}"
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerow(["Step", name, f"{name}__MIN", f"{name}__MAX"])
        for row in table.to_pylist():
            if row[metric] is not None:
                writer.writerow([row["step"], *[_in_javascript(row[metric])] * 3])


def _in_javascript(value: float) -> str:
    """Return a number as JavaScript prints it: ``0`` for 0.0, ``0.00001`` for 1e-05, ``1e-7`` for 1e-07."""
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return np.format_float_positional(value, trim="-")
    return json.dumps(value).replace("e-0", "e-")


def _updates(table: pa.Table) -> Iterator[tuple[Row, Row]]:
    """Pair the row before every update with the one after it; the first pair is nothing and row 0."""
    rows = table.sort_by("step").to_pylist()
    return zip([{}, *rows], rows, strict=False)


def _named(row: Row, keys: Mapping[str, str]) -> dict[str, float]:
    """Return a row's values under a tool's keys, without nulls and what the row does not have."""
    return {key: row[column] for key, column in keys.items() if row.get(column) is not None}


def _averaged(metrics: Mapping[str, float]) -> dict[str, float]:
    """Return metrics as NumPy's numbers, which verl has where it took a mean: its console shows it."""
    return {key: np.float64(value) for key, value in metrics.items()}


def _lab_extra(module: str) -> Any:
    """Import a module that only the extra ``lab`` installs, or say what to install."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        raise ModuleNotFoundError(
            f'this format needs {package} ({error}): python -m pip install ".[lab]"', name=error.name
        ) from error


_FORMATS: dict[str, tuple[Callable[[pa.Table, Path], None], tuple[str, ...]]] = {
    "verl": (write_verl, ("verl.jsonl",)),
    "console": (write_verl_console, ("verl_console.log",)),
    "trl": (write_trl, ("trainer_state.json",)),
    "wandb": (write_wandb, ("wandb/offline-run-{run}/run-{run}.wandb",)),
    "tensorboard": (write_tensorboard, ("events.out.tfevents.0.lab",)),
    "clearml": (write_clearml, ("clearml_scalars.json",)),
    "ui": (write_ui, ("wandb_ui_entropy.csv", "wandb_ui_val_acc.csv")),
}
