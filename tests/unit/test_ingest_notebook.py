"""Notebooks: made by hand as Jupyter saves them, and damaged; no cell's source code is ever a log."""

import json
import tracemalloc

import numpy as np
import pytest

from entropylaw.errors import InputError
from entropylaw.ingest.readers.notebook import TOO_LONG
from entropylaw.ingest.sources.content import Content
from entropylaw.ingest.sources.registry import reader_of
from tests.hostile import assembled, refused, rows_or_refusal

VERL = "\x1b[36m(TaskRunner pid=7)\x1b[0m step:{0} - actor/entropy:0.{1} - critic/score/mean:0.{0}\n"
SOURCE = "print('step:99 - actor/entropy:9.0 - critic/score/mean:9.0')\n"


def stream(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text.splitlines(keepends=True)}


def shown(kind="display_data", **data):
    bundle = {"text/plain": "<IPython.core.display.HTML object>"}
    bundle |= {f"text/{key}": value for key, value in data.items()}
    return {"output_type": kind, "metadata": {}, "data": bundle}


def code(*outputs):
    return {
        "cell_type": "code",
        "execution_count": 1,
        "metadata": {},
        "source": [SOURCE],
        "outputs": list(outputs),
    }


def markdown():
    return {"cell_type": "markdown", "metadata": {}, "source": [SOURCE]}


def notebook(*cells, indent=1):
    value = {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(value, indent=indent, ensure_ascii=False).encode()


def verl(steps):
    return "".join(VERL.format(step, 90 - step) for step in steps)


def trainer_table(header, rows):
    """What transformers' ``text_to_html_table`` writes, below its progress bar."""
    cells = [[f"{cell:.6f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]
    text = "\n    <div>\n      \n      <progress value='9' max='9'></progress>\n      [9/9 00:12]\n"
    text += (
        '    </div>\n    <table border="1" class="dataframe">\n  <thead>\n <tr style="text-align: left;">\n'
    )
    text += "".join(f"      <th>{name}</th>\n" for name in header) + "    </tr>\n  </thead>\n  <tbody>\n"
    for row in cells:
        text += "    <tr>\n" + "".join(f"      <td>{cell}</td>\n" for cell in row) + "    </tr>\n"
    return text + "  </tbody>\n</table><p>"


def bar(step, total=4):
    return f"\r{25 * step:3d}%|██▌  | {step}/{total} [00:19<11:24,  3.51s/it]"


WIPED = "\r" + " " * (len(bar(0)) - 1) + "\r"


def read(data):
    return reader_of("ipynb").read(Content("n.ipynb", data))


def runs(data):
    return assembled("ipynb", read(data), "n")


def small(steps):
    """A notebook with the lines of some steps, source code, a text and a table."""
    table = trainer_table(["Step", "reward"], [[1, 0.5], [2, 0.6]])
    return notebook(markdown(), code(stream(verl(steps))), code(shown(html=table)))


def test_verl_lines_are_read_from_outputs_and_never_from_source_code():
    table = read(notebook(markdown(), code(), code(stream(verl([1, 2, 3])))))
    assert list(table.columns["step"]) == [1, 2, 3]
    assert list(table.columns["actor/entropy"]) == [0.89, 0.88, 0.87]
    assert table.rows == 3
    assert table.notes == ("read from the outputs of cell 3 of the notebook (verl)",)


def test_a_training_that_goes_on_in_a_later_cell_is_one_run():
    data = notebook(code(stream(verl([1, 2, 3]))), markdown(), code(stream(verl([4, 5]))))
    (run,) = runs(data)
    assert list(run.step) == [1, 2, 3, 4, 5]
    assert "read from the outputs of cells 1, 3 of the notebook (verl)" in run.notes


def test_a_training_that_starts_again_in_a_later_cell_is_another_run():
    first, second = runs(notebook(code(stream(verl([1, 2, 3]))), code(stream(verl([1, 2])))))
    assert (list(first.step), list(second.step)) == ([1, 2, 3], [1, 2])


def test_the_streams_of_a_cell_are_joined_in_their_order():
    outputs = [stream(bar(0), "stderr")]
    for step in (1, 2, 3, 4):
        entry = {"loss": 0.1, "reward": 0.1 * step, "entropy": 1 / step, "epoch": step / 4}
        outputs += [stream(bar(step) + WIPED, "stderr"), stream(f"{entry}\n"), stream(bar(step), "stderr")]
    table = read(notebook(code(*outputs)))
    assert list(table.columns["step"]) == [1, 2, 3, 4]
    assert list(table.columns["entropy"]) == [1, 0.5, 1 / 3, 0.25]
    assert any("progress bar" in note for note in table.notes)


def test_the_table_of_an_unsloth_notebook():
    header = [
        "Step",
        "Training Loss",
        "reward",
        "reward_std",
        "completions / mean_length",
        "kl",
        "rewards / f / mean",
    ]
    rows = [[1, 0.0, 0.25, 0.1, 200.0, 0, 0.3], [2, 0.001, 0.5, 0.2, 190.5, 0.0004, "No Log"]]
    table = read(notebook(code(shown(html=trainer_table(header, rows).splitlines(keepends=True)))))
    assert [*table.columns] == [
        *("step", "loss", "reward", "reward_std", "completions/mean_length", "kl", "rewards/f/mean"),
    ]
    assert list(table.columns["reward"]) == [0.25, 0.5]
    assert np.isnan(table.columns["kl"][0])
    assert table.columns["kl"][1] == 0.0004
    assert np.isnan(table.columns["rewards/f/mean"][1])
    assert "the Trainer's table shows six decimals, to which its values are rounded" in table.notes
    assert "1 cell of its first row with a bare 0, which means no value" in table.notes


def test_what_an_evaluation_measured_is_no_training_reward():
    header = ["Step", "Training Loss", "Validation Loss", "Reward", "Reward Std", "Rewards/f/mean", "Entropy"]
    rows = [[10, "No log", 0.1, 0.5, 0.1, 0.5, 0.7], [20, 0.2, 0.1, 0.6, 0.1, 0.6, 0.6]]
    table = read(notebook(code(shown(html=trainer_table(header, rows)))))
    assert [*table.columns] == [
        *(
            "step",
            "loss",
            "eval_loss",
            "eval_reward",
            "eval_reward_std",
            "eval_rewards/f/mean",
            "eval_entropy",
        ),
    ]
    assert list(table.columns["eval_reward"]) == [0.5, 0.6]


@pytest.mark.parametrize(
    "html",
    [
        trainer_table(["", "step", "reward"], [[0, 1, 0.5], [1, 2, 0.6]]),
        trainer_table(["Training Loss", "Validation Loss", "Step"], [["No log", 0.1, 3]]),
        trainer_table(["Step", "Training Loss"], []),
        trainer_table(["Step", "Training Loss"], [["one", 0.1]]),
        trainer_table(["Step", "Training Loss"], [[1, 0.1]]).replace("</table>", ""),
        "<table",
        "",
    ],
)
def test_other_tables_are_no_log(html):
    refused("no-records", read, notebook(code(shown(html=html))))


def test_a_row_longer_than_the_header_is_counted():
    html = trainer_table(["Step", "Training Loss"], [[1, 0.5], [2, 0.4, 0.3]])
    table = read(notebook(code(shown(html=html))))
    assert table.dropped == {TOO_LONG: 1}
    assert (table.rows, len(table.columns["step"])) == (2, 1)


@pytest.mark.parametrize("where", ["displayed", "printed"])
def test_the_log_history_has_steps_of_its_own_and_more_than_the_table(where):
    table = trainer_table(["Step", "Training Loss", "reward"], [[10, 0.1, 0.5], [20, 0.2, 0.6]])
    text = "[{'loss': 0.1, 'reward': 0.5, 'entropy': nan, 'epoch': 0.1, 'step': 10},\n {'loss': 0.2,\n"
    text += "  'reward': 0.6,\n  'entropy': 0.25,\n  'epoch': 0.2,\n  'step': 20},\n"
    text += " {'train_runtime': 1.0, 'epoch': 1.0, 'step': 20}]"
    history = (
        shown("execute_result", plain=text) if where == "displayed" else stream(" ".join(text.split()) + "\n")
    )
    found = read(notebook(code(shown(html=table)), code(history)))
    assert list(found.columns["step"]) == [10, 20]
    assert np.array_equal(found.columns["entropy"], [np.nan, 0.25], equal_nan=True)
    assert "read from the outputs of cell 2 of the notebook (a list of log entries)" in found.notes
    assert "what the outputs of cell 1 hold of another log (the Trainer's table) was left out" in found.notes


def test_json_lines_among_other_prints():
    lines = [json.dumps({"step": step, "entropy": 0.5, "reward": 0.1 * step}) for step in range(1, 4)]
    text = "loading\n" + "\nsaved a checkpoint\n".join(lines) + "\n"
    table = read(notebook(code(stream(text))))
    assert list(table.columns["step"]) == [1, 2, 3]


@pytest.mark.parametrize(
    "text",
    [
        '{"model": "m", "lr": 1e-6}\n',
        '{"step": 1, "lr": 1}\n{"step": 2, "lr": 1}\n',
        '{"entropy": 1}\n{"entropy": 2}\n',
        "a,b\n1,2\n3,4\n",
        "Epoch 1: loss 0.5\n",
    ],
)
def test_other_prints_are_no_log(text):
    error = refused("no-records", read, notebook(markdown(), code(stream(text)), code()))
    assert "1 cell with outputs of 3 cells looked at" in error.message
    assert "cleared" in error.hint


def test_a_notebook_of_nbformat_3():
    outputs = [
        {"output_type": "stream", "stream": "stdout", "text": ["nothing\n"]},
        {"output_type": "display_data", "html": [trainer_table(["Step", "reward"], [[1, 0.5], [2, 0.6]])]},
    ]
    cell = {"cell_type": "code", "input": [SOURCE], "outputs": outputs, "language": "python"}
    value = {"metadata": {"name": ""}, "nbformat": 3, "nbformat_minor": 0, "worksheets": [{"cells": [cell]}]}
    content = Content("old.ipynb", json.dumps(value, indent=1).encode())
    assert reader_of("ipynb").recognises(content)
    assert list(reader_of("ipynb").read(content).columns["reward"]) == [0.5, 0.6]


@pytest.mark.parametrize("first", ["cells", "metadata", "nbformat"])
@pytest.mark.parametrize("indent", [None, 1])
def test_it_is_recognised_whatever_comes_first(first, indent):
    value = json.loads(notebook(code(stream(verl([1])))))
    value["metadata"] = {"widgets": {"state": "x" * (1 << 17)}}
    value = {first: value[first], **value}
    for name in ("n.ipynb", "noname"):
        assert reader_of("ipynb").recognises(Content(name, json.dumps(value, indent=indent).encode()))


@pytest.mark.parametrize(
    "data",
    [
        b'{"step": 1, "entropy": 0.5}\n{"step": 2, "entropy": 0.4}\n',
        b'{"best_metric": null, "log_history": [{"step": 1, "reward": 0.5}]}',
        b'{"cells": 3, "step": 1}\n{"cells": 4, "step": 2}\n',
        json.dumps({"text": notebook(code()).decode()}).encode() + b"\n",
        b'{"metadata": {}, "cells": [{"cell_type": "neuron"}]}',
        b"step:1 - actor/entropy:0.5\n",
        b"",
    ],
)
def test_other_files_are_not_taken_for_notebooks(data):
    assert not reader_of("ipynb").recognises(Content("n.ipynb", data))


def test_pictures_take_no_part():
    picture = {
        "output_type": "display_data",
        "metadata": {},
        "data": {"image/png": "iVBORw0KGgo" * 1000 + "=\n"},
    }
    table = read(notebook(code(picture, stream(verl([1, 2])), picture)))
    assert list(table.columns["step"]) == [1, 2]


def test_a_notebook_that_was_cut_off_is_corrupt():
    data = notebook(code(stream(verl([1, 2, 3]))))
    content = Content("n.ipynb", data[: len(data) // 2])
    assert reader_of("ipynb").recognises(content)
    error = refused("file-corrupt", reader_of("ipynb").read, content)
    assert "breaks off" in error.message


@pytest.mark.parametrize(
    "data",
    [
        b"[1]",
        b"{" * 99_999,
        b'{"cells": ' + b"[" * 99_999,
        b'{"cells": [' + b"{}," * (1 << 20) + b'{}], "nbformat": 4}',
        b'{"cells": [], "nbformat": 4' + b"9" * 9999 + b"}",
        b'{"cells": 5, "nbformat": 4}',
        b'{"cells": [1, {"outputs": [2, {"output_type": "stream"}, {"output_type": "pyout", "data": 3}]}]}',
        b'{"cells": [{"outputs": [{"output_type": "stream", "text": "\\ud800 step:1 - a:b\\n"}]}]}',
        b'{"worksheets": [1, {"cells": 2}], "nbformat": 3}',
    ],
    ids=range(9),
)
def test_hostile_notebooks_give_rows_or_a_refusal(data):
    rows_or_refusal(read, data)


def test_hostile_tables_take_no_time():
    pieces = ("<table>", "<tr>" * 50_000, "<th " * 50_000, "<td>" + "x" * 99_999, "<!--" * 50_000, "</table>")
    assert rows_or_refusal(read, notebook(code(shown(html="".join(pieces))))) == 0
    assert rows_or_refusal(read, notebook(code(shown(html="<table" * 100_000)))) == 0


def test_many_empty_values_do_not_fill_the_memory():
    data = b'{"cells": [' + b"[]," * (1 << 22) + b'[]], "nbformat": 4}'
    tracemalloc.start()
    with pytest.raises(InputError) as caught:
        read(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert caught.value.slug == "file-corrupt"
    assert peak < 10 * len(data)
