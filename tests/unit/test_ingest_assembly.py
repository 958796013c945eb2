"""From tables to runs: steps that repeat and fall, runs separated, every loss counted."""

NAN = float("nan")


def curve(steps, shift=0.0):
    """Columns of a run whose entropy says at which step and in which life it was logged."""
    return {
        "step": list(steps),
        "entropy": [step + shift for step in steps],
        "reward": [step / 100 + shift for step in steps],
    }


def after(*parts):
    return {name: [cell for part in parts for cell in part[name]] for name in parts[0]}


def records(*rows):
    names = ("step", "entropy", "val_acc", "epoch")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


TRAINED = [(step, step, NAN, step) for step in (1, 2, 3, 4)]
ON_ROWS = [*TRAINED[:2], (2, NAN, 0.2, 2.1), *TRAINED[2:], (4, NAN, 0.4, 4.1)]
HOSTILE = 'a, b/../"<script>\n\x1b[31m'
ALTERNATING = {
    "seed": [0, 1] * 4,
    "step": [1, 1, 2, 2, 3, 3, 4, 4],
    "entropy": [1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5],
}
ARMS = {"arm": ["a"] * 4 + ["b"] * 4, "seed": [0, 0, 1, 1] * 2, "step": [1, 2] * 4, "entropy": list(range(8))}
VARIANTS = {"variant": ["x", "y"] * 3, "step": [1, 1, 2, 2, 3, 3], "entropy": [1, 10, 2, 20, 3, 30]}
STEPS = (
    *(["step"], ["step", "training/global_step"], ["_step", "train.global_step"]),
    *(["_step", "training_global_step"], ["_step"], ["Step"]),
)
TWO = {"step": [1, 2], "entropy": [1, 2]}
SAMPLES = {
    "a resume": (after(curve(range(1, 11)), curve(range(7, 13), shift=0.5)),),
    "less was logged after the resume than before it": (
        after(curve(range(1, 11)), curve([5, 6], shift=0.5)),
    ),
    "two resumes": (after(curve(range(1, 11)), curve(range(7, 13), 0.25), curve(range(5, 9), 0.5)),),
    "a restart": (after(curve(range(24)), curve(range(29), shift=0.5)),),
    "evaluations on rows of their own": (records(*ON_ROWS),),
    "a late evaluation": (records(*TRAINED[:3], (2, NAN, 0.2, 0.31), (4, 4, 0.4, 0.4)),),
    "evaluations after the training": (records(*TRAINED, *((s, NAN, s / 10, s) for s in (0, 2, 4))),),
    "values logged again": ({"step": [*range(1, 9), 8, 9, 9], "entropy": [*range(1, 9), 8, 9, 9.5]},),
    "in reverse": (curve(range(20, 0, -1)),),
    "records without a step": ({"step": ["1", "", "3", "x"], "entropy": [1, 2, 3, 4]},),
    **{
        f"runs by {name}": (
            {name: [HOSTILE] * 3 + ["c"] * 3, **after(curve([1, 2, 3]), curve([1, 2, 3], 0.5))},
        )
        for name in ("run", "arm", "run_name", "experiment")
    },
    "seeds that alternate": (ALTERNATING,),
    "a constant seed": ({"seed": [0, 0], **TWO},),
    "arm and seed": (ARMS,),
    "the user's run column": (VARIANTS, {"run": "variant"}),
    "a column that changes on every row": ({"run_id": [f"id{i}" for i in range(6)], **curve(range(6))},),
    "runs without a label": (
        after(*(curve([step], shift) for step in range(1, 10) for shift in (0, 0.1, 0.2))),
    ),
    **{
        f"steps of {' and '.join(names)}": ({name: [1, 2] for name in (*names, "entropy")},)
        for names in STEPS
    },
    "a step on more rows": ({"training/global_step": [NAN, 1, 2], "step": [0, 1, 2], "entropy": [1, 2, 3]},),
    "a step as text": (
        {"global_step/max_steps": ["10/438", "20/438"], "entropy": ["'0.5'", "np.float64(0.4)"]},
    ),
    "no step": ({"when": [1, 2], "entropy": [1, 2]},),
    "a step that is a word": ({"step": ["one", "two"], "entropy": [1, 2]},),
    "no value of the step": ({"step": [NAN, NAN], "entropy": [1, 2]},),
    "no column of the step's name": (TWO, {"step": "stp"}),
    "no column of the run's name": (TWO, {"run": "arm"}),
    "text in a metric": ({"step": [1, 2, 3], "entropy": ["0.5", "2.28%", "0.4"]},),
}
