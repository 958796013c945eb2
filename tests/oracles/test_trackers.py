"""Files of the trackers and of transformers' Trainer, written by these themselves."""

import math

import pytest

from entropylaw.logs.sources.content import load
from entropylaw.logs.sources.registry import reader_of
from tests.oracles.trace import VALIDATION, assert_read


@pytest.fixture
def wandb_offline(need, tmp_path, monkeypatch):
    """W&B as it is without a network."""
    settings = {"MODE": "offline", "SILENT": "true", "CONSOLE": "off", "ERROR_REPORTING": "false"}
    for name in ("DIR", "CACHE_DIR", "CONFIG_DIR", "DATA_DIR"):
        settings[name] = str(tmp_path)
    for name, value in settings.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    return need("wandb")


OTHERS = {
    4: {"odd": math.inf, "text": "a few words", "list": [1, 2, 3]},
    5: {"odd": -math.inf, "flag": True, "empty": {}},
    7: {"odd": 5e-324, "tokens": 1 << 40},
    8: {"odd": 1.7976931348623157e308, "dotted.name": -8, "ünïcödé/名": 1.5},
    10: {"odd": 123456789012345678901234567890, "key with blanks": 2, "x" * 200: 3.5},
}
"""What people log beside metrics, by step."""


@pytest.mark.parametrize("apart", [False, True], ids=["in one call", "evaluations in calls of their own"])
def test_wandb(run, wandb_offline, tmp_path, apart):
    """Trainers call log twice at a step, and log their own step with each call; and they log much else."""
    logger = wandb_offline.init(project="oracles", name="a run", dir=str(tmp_path))
    for step, record in run.records():
        if not apart:
            logger.log(record | OTHERS.get(step, {}), step=step)
            continue
        evaluation = {VALIDATION: record.pop(VALIDATION)} if VALIDATION in record else {}
        for part in filter(None, (record, evaluation)):
            logger.log({**part, "train/global_step": step})
    logger.finish()
    wandb_offline.teardown()  # on a busy machine, its service still writes when finish() returns
    (path,) = tmp_path.rglob("*.wandb")
    found = assert_read(path, run)
    for step, logged in {} if apart else OTHERS.items():
        row = found.step.tolist().index(step)
        values = {name: float(value) for name, value in logged.items() if name in found.columns}
        assert {name: found.columns[name][row] for name in values} == values
        assert len(values) == sum(type(value) in (int, float) for value in logged.values())
    assert (found.name, found.step_column) == ("a run", "train/global_step" if apart else "_step")


def assert_as_tensorboard_reads_it(path):
    """The table holds what tensorboard reads, tag by tag and in its order."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    theirs = EventAccumulator(str(path), size_guidance={"scalars": 0, "tensors": 0}).Reload()
    expected = {
        tag: [(one.step, one.value) for one in theirs.Scalars(tag)] for tag in theirs.Tags()["scalars"]
    }
    for tag in theirs.Tags()["tensors"]:
        arrays = [(one.step, make_ndarray(one.tensor_proto)) for one in theirs.Tensors(tag)]
        if all(array.size == 1 and array.dtype.kind in "fi" for _, array in arrays):
            expected[tag] = [(step, float(array.item())) for step, array in arrays]
    # A nan is a missing value for us.
    expected = {tag: [pair for pair in pairs if pair[1] == pair[1]] for tag, pairs in expected.items()}
    table = reader_of("tfevents").read(load(str(path)))
    found = {
        tag: [pair for pair in zip(table.columns["step"], cells, strict=True) if not math.isnan(pair[1])]
        for tag, cells in table.columns.items()
        if tag != "step"
    }
    assert found == expected
    assert (table.dropped, table.notes) == ({}, ())


def event_file(folder):
    (path,) = folder.rglob("*tfevents*")
    assert_as_tensorboard_reads_it(path)
    return path


def test_tensorboards_event_writer(run, need, tmp_path):
    need("tensorboard")
    writer = need("tensorboard.summary.writer.event_file_writer").EventFileWriter(str(tmp_path))
    event, summary = need("tensorboard.compat.proto.event_pb2"), need("tensorboard.compat.proto.summary_pb2")
    for step, record in run.records():
        values = [summary.Summary.Value(tag=tag, simple_value=value) for tag, value in record.items()]
        writer.add_event(event.Event(step=step, wall_time=step, summary=summary.Summary(value=values)))
    writer.close()
    assert_read(event_file(tmp_path), run.as_float32)


SCALARS = {
    "tensorboard": ("tensorboard.summary", "Writer", {}),
    "tensorboardX": ("tensorboardX", "SummaryWriter", {}),
    "torch": ("torch.utils.tensorboard", "SummaryWriter", {}),
    "torch, tensors": ("torch.utils.tensorboard", "SummaryWriter", {"new_style": True}),
    "torch, doubles": (
        *("torch.utils.tensorboard", "SummaryWriter"),
        {"new_style": True, "double_precision": True},
    ),
}


@pytest.mark.parametrize("name", SCALARS)
def test_writers_of_scalars(run, need, tmp_path, name):
    """The scalars of tensorboard's own writer are tensors."""
    module, kind, options = SCALARS[name]
    need("tensorboard")
    writer = getattr(need(module), kind)(str(tmp_path))
    for step, record in run.records():
        for tag, value in record.items():
            writer.add_scalar(tag, value, step, **options)
    writer.close()
    assert_read(event_file(tmp_path), run if "double_precision" in options else run.as_float32)


@pytest.mark.parametrize("store", ["files", "sqlite"])
def test_mlflow(run, need, tmp_path, monkeypatch, store):
    need("entropylaw.logs.sources.bundles")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.setenv("GIT_PYTHON_REFRESH", "quiet")
    tracking = need("mlflow.tracking")
    metric = need("mlflow.entities").Metric
    if store == "sqlite":
        need("sqlalchemy")
    path = tmp_path / ("mlruns" if store == "files" else "mlflow.db")
    address = path.as_uri() if store == "files" else f"sqlite:///{path}"
    client = tracking.MlflowClient(tracking_uri=address)
    experiment = client.create_experiment("oracles", artifact_location=tmp_path.as_uri())
    run_id = client.create_run(experiment, run_name="a run").info.run_id
    for step, record in run.records():
        client.log_batch(run_id, [metric(key, value, 1000 * step, step) for key, value in record.items()])
    client.set_terminated(run_id)
    assert assert_read(path, run).name == "a run"


@pytest.mark.parametrize("part", ["of a step in one entry", "with evaluations of their own"])
def test_transformers_trainer_state(run, need, tmp_path, part):
    state = need("transformers.trainer_callback").TrainerState()
    for step, record in run.records():
        evaluation = {}
        if part == "with evaluations of their own" and VALIDATION in record:
            evaluation = {VALIDATION: record.pop(VALIDATION)}
        # As Trainer.log has it.
        state.log_history += [
            {**entry, "epoch": step / 200, "step": step} for entry in (record, evaluation) if entry
        ]
        state.global_step = step
    path = tmp_path / "trainer_state.json"
    state.save_to_json(str(path))
    assert_read(path, run)
