"""``trainer_state.json``: written by hand, damaged, and real ones where they are at hand."""

import json
import math

SUMMARY = {
    "epoch": 1.0,
    "step": 3,
    "total_flos": 0.0,
    "train_loss": 0.01,
    "train_runtime": 9.5,
    "train_samples_per_second": 1.7,
}


def training(step, **more):
    values = {"entropy": 0.5 / step, "epoch": step / 3, "loss": 0.01, "reward": 0.1 * step, "step": step}
    return {**values, **more}


def evaluation(step, **more):
    return {"epoch": step / 3, "eval_reward": 0.2 * step, "eval_runtime": 3.5, "step": step, **more}


def state(entries):
    return {
        "best_metric": None,
        "epoch": 1.0,
        "global_step": 3,
        "is_world_process_zero": True,
        "log_history": entries,
        "logging_steps": 1,
        "max_steps": 300,
        "stateful_callbacks": {"TrainerControl": {"args": {"should_save": True}, "attributes": {}}},
    }


def text(entries, indent=2):
    return json.dumps(state(entries), indent=indent, sort_keys=True) + "\n"


SMALL = text([training(1), evaluation(1), training(2, entropy=math.nan), training(3), SUMMARY])


def cut_off(indent):
    whole = text([training(step) for step in range(1, 9)], indent)
    return whole[: whole.index('"step": 6') - 5]


WHOLE, FEW = text([training(step) for step in range(1, 9)]), [training(1), training(2)]
MATHS = {"step": 1, "epoch": 1 / 3, "eval_math_reward": 0.7}
LATE = [evaluation(0), training(1), training(2), evaluation(2), {**evaluation(2), "eval_reward": 0.9}]
ODD = [training(1, entropy=math.nan), training(2, entropy=math.inf), training(3, entropy=None)]
NOTHING = (
    *(text([]), text([SUMMARY]), text([1, 2]), text([training(1)])[:200], '{"log_history": null}'),
    *('{"log_history": [' + '{"a": ' * 5000, '{"log_history": [' + "[" * 5000),
    *('{"log_history": [}{}}{,,]', '{"x": "\\ud800"}', "", b"\x00\xff\xfe{", "nothing of the kind"),
)
STATES = {
    "entries": text(FEW),
    "an evaluation joins the entry of its step, a second one does not": text([*LATE, training(3)]),
    "a step that is logged again": text([*FEW, training(2, reward=0.9), training(3)]),
    "entries that are not neighbours": text([*FEW, evaluation(1)]),
    # ``include_num_input_tokens_seen`` adds the run time to every training entry.
    "a run time beside a loss": text([training(1, train_runtime=3.5), training(2, train_runtime=4.5)]),
    "evaluations on several data sets": text([training(1), evaluation(1), MATHS, training(2)]),
    "a summary": text([*FEW, training(3), SUMMARY]),
    "numbers in quotes": text([training(1, entropy="0.0012"), training(2, entropy="nan")]),
    "numbers that are not finite": text(ODD),
    "a giant integer": text([training(1), training(2, entropy=7)]).replace(
        ": 7,", ": " + "7" * 100_000 + ","
    ),
    "steps in quotes": text([training(1) | {"step": "1"}, training(2) | {"step": "2"}]),
    "lists and objects in an entry": text([training(1, samples=[1, 2], args={"a": 1}), training(2)]),
    "cut off": cut_off(2),
    "cut off in one line": cut_off(None),
    "cut off behind the entries": text(FEW)[: text(FEW).index('"max_steps"')],
    "a broken entry": WHOLE.replace('"step": 4', '"step": #', 1),
    "entries that are no objects": text([training(1), 7, "x", None, [1], training(2)]),
    "a list that is not at the top": json.dumps({"state": state(FEW)}),
    **{f"no entries {n}": data for n, data in enumerate(NOTHING)},
}
SAMPLES = {title: ("trainer-state", "trainer_state.json", data) for title, data in STATES.items()}
