"""Notebooks: made by hand as Jupyter saves them, and damaged; no cell's source code is ever a log."""

import json

import pytest

from entropylaw.logs.sources.content import Content
from entropylaw.logs.sources.registry import reader_of
from tests.hostile import refused

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


def small(steps):
    """A notebook with the lines of some steps, source code, a text and a table."""
    table = trainer_table(["Step", "reward"], [[1, 0.5], [2, 0.6]])
    return notebook(markdown(), code(stream(verl(steps))), code(shown(html=table)))


def progress():
    """What TRL prints: its bar on the one stream, its entries on the other."""
    outputs = [stream(bar(0), "stderr")]
    for step in (1, 2, 3, 4):
        entry = {"loss": 0.1, "reward": 0.1 * step, "entropy": 1 / step, "epoch": step / 4}
        outputs += [stream(bar(step) + WIPED, "stderr"), stream(f"{entry}\n"), stream(bar(step), "stderr")]
    return code(*outputs)


def history(where):
    """A list of log entries, displayed or printed, below the table of the same training."""
    text = "[{'loss': 0.1, 'reward': 0.5, 'entropy': nan, 'epoch': 0.1, 'step': 10},\n {'loss': 0.2,\n"
    text += "  'reward': 0.6,\n  'entropy': 0.25,\n  'epoch': 0.2,\n  'step': 20},\n"
    text += " {'train_runtime': 1.0, 'epoch': 1.0, 'step': 20}]"
    table = trainer_table(["Step", "Training Loss", "reward"], [[10, 0.1, 0.5], [20, 0.2, 0.6]])
    output = (
        stream(" ".join(text.split()) + "\n") if where == "printed" else shown("execute_result", plain=text)
    )
    return notebook(code(shown(html=table)), code(output))


def json_lines():
    lines = [json.dumps({"step": step, "entropy": 0.5, "reward": 0.1 * step}) for step in range(1, 4)]
    return notebook(code(stream("loading\n" + "\nsaved a checkpoint\n".join(lines) + "\n")))


def html_notebook(header, rows):
    return notebook(code(shown(html=trainer_table(header, rows).splitlines(keepends=True))))


PICTURE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": "iVBORw0KGgo" * 1000 + "=\n"}}

GOES_ON = (code(stream("Collecting x\n" * 9000)), code(stream(verl([1, 2]))), code(stream(verl([3]))))
UNSLOTH = html_notebook(
    ["Step", "Training Loss", "reward", "completions / mean_length", "kl", "rewards / f / mean"],
    [[1, 0.0, 0.25, 200.0, 0, 0.3], [2, 0.001, 0.5, 190.5, 0.0004, "No Log"]],
)
MEASURED = html_notebook(
    ["Step", "Training Loss", "Validation Loss", "Reward", "Reward Std", "Rewards/f/mean", "Entropy"],
    [[10, "No log", 0.1, 0.5, 0.1, 0.5, 0.7], [20, 0.2, 0.1, 0.6, 0.1, 0.6, 0.6]],
)
TABLES = (
    trainer_table(["Step", "Training Loss"], [[1, 0.5]]),
    trainer_table(["Step", "reward"], [[1, 0.25], [2, 0.5]]),
)
NOTEBOOKS = {
    "verl's lines, and no source code": notebook(markdown(), code(), code(stream(verl([1, 2, 3])))),
    "pictures": notebook(code(PICTURE, stream(verl([1, 2])), PICTURE)),
    "a training that goes on in a later cell": notebook(*GOES_ON),
    "a training that starts again in a later cell": notebook(*GOES_ON, code(stream(verl([1, 2])))),
    "streams in their order": notebook(progress()),
    "two trainings that count by their bars": notebook(progress(), markdown(), progress()),
    "unsloth": UNSLOTH,
    "what an evaluation measured": MEASURED,
    "a row longer than the header": html_notebook(["Step", "reward"], [[1, 0.5], [2, 0.4, 0.3]]),
    "two tables with other columns": notebook(*(code(shown(html=table)) for table in TABLES)),
    "a displayed history": history("displayed"),
    "a printed history": history("printed"),
    "JSON lines among other prints": json_lines(),
}
SAMPLES = {title: ("ipynb", "n.ipynb", data) for title, data in NOTEBOOKS.items()}


OTHER_TABLES = (
    trainer_table(["", "step", "reward"], [[0, 1, 0.5], [1, 2, 0.6]]),
    trainer_table(["Training Loss", "Validation Loss", "Step"], [["No log", 0.1, 3]]),
    trainer_table(["Step", "Training Loss"], []),
    trainer_table(["Step", "Training Loss"], [["one", 0.1]]),
    trainer_table(["Step", "Training Loss"], [[1, 0.1]]).replace("</table>", ""),
    *("<table", ""),
)
OTHER_PRINTS = (
    *('{"model": "m", "lr": 1e-6}\n', '{"step": 1, "lr": 1}\n{"step": 2, "lr": 1}\n'),
    *('{"entropy": 1}\n{"entropy": 2}\n', "a,b\n1,2\n3,4\n", "Epoch 1: loss 0.5\n"),
    "by step 600: a gain of 0.01, P = 0.85, an entropy of 0.02 nats\n",
)
OTHERS = (
    *(shown(html=html) for html in OTHER_TABLES),
    *map(stream, OTHER_PRINTS),
)


@pytest.mark.parametrize("output", OTHERS, ids=range(len(OTHERS)))
def test_other_tables_and_prints_are_no_log(output):
    error = refused("notebook-without-log", read, notebook(markdown(), code(output), code()))
    assert "1 cell with outputs of 3 cells looked at" in error.message
    assert "cleared" in error.hint


@pytest.mark.parametrize("first", ["cells", "metadata", "nbformat"])
@pytest.mark.parametrize("indent", [None, 1])
def test_it_is_recognised_whatever_comes_first(first, indent):
    value = json.loads(notebook(code(stream(verl([1])))))
    value["metadata"] = {"widgets": {"state": "x" * (1 << 17)}}
    value = {first: value[first], **value}
    for name in ("n.ipynb", "noname"):
        assert reader_of("ipynb").recognises(Content(name, json.dumps(value, indent=indent).encode()))


def test_a_notebook_that_was_cut_off_is_corrupt():
    data = notebook(code(stream(verl([1, 2, 3]))))
    content = Content("n.ipynb", data[: len(data) // 2])
    assert reader_of("ipynb").recognises(content)
    assert "breaks off" in refused("file-corrupt", reader_of("ipynb").read, content).message
