"""What slime, ROLL, AReaL and EasyR1 print: written by hand in the form of their sources."""

import json
import math

STEPS = range(6)
#: Trainers whose console is read as any other text with names and numbers.
AS_TEXT = ("prime-rl", "openrlhf", "roll", "areal", "easyr1", "skyrl", "tinker", "open-instruct")
BAR = "Training:  17%|██▌       | 1/6 [00:19<11:24,  3.51s/it]"


def reader_of(title):
    """The reader of a sample, of which the title begins with a trainer's name."""
    name = title.partition(":")[0]
    return "text" if name in AS_TEXT else name


def entropy(step):
    return 0.8 - 0.05 * step


def reward(step):
    return 0.25 + 0.05 * step


ACTOR = "\x1b[36m(MegatronTrainRayActor pid=10122)\x1b[0m [2026-07-20 17:53:24] "
MANAGER = "\x1b[36m(RolloutManager pid=6809)\x1b[0m [2026-07-20 17:53:16] "


def rollout(number):
    values = {"rollout/response_lengths": 5824.08, "rollout/rewards": 1.2e-09}
    values |= {"rollout/raw_reward": reward(number), "rollout/advantages": -6.2e-09}
    return f"{ACTOR}data.py:193 - rollout {number}: {values}\n"


def training(number, value):
    values = {"train/loss": -9.3e-10, "train/entropy_loss": value}
    values |= {"train/ppo_kl": 0.0, "train/lr-pg_0": 1e-06}
    return f"{ACTOR}model.py:702 - step {number}: {values | {'train/step': number}}\n"


def generated(number):
    values = {"rollout/response_len/mean": 1877.1, "perf/rollout_time": 98.6}
    return f"{MANAGER}rollout.py:1303 - perf {number}: {values}\n"


def evaluation(number, value):
    values = (
        f"{{'eval/aime': {value}, 'eval/aime/response_len/mean': 900.0, 'eval/aime-pass@8': np.float64(0.9)}}"
    )
    return f"{MANAGER}rollout.py:1207 - eval {number}: {values}\n"


def slime(per_rollout=1, start=0, stop=6, every=2, first=True):
    """A log: an evaluation before training, and one behind every second rollout."""
    text = "Namespace(step 0: nothing)\n" + BAR + "\n" + (evaluation(0, 0.1) if first else "")
    for number in range(start, stop):
        text += generated(number) + rollout(number)
        for part in range(per_rollout):
            text += training(number * per_rollout + part, entropy(number) - 0.01 * part)
        text += f"{ACTOR}perf.py:47 - perf {number}: {{'perf/train_time': 41.3, 'perf/step_time': 99.0}}\n"
        text += evaluation(number, 0.2 + 0.1 * number) if (number + 1) % every == 0 else ""
    return text


LOGGER = "[2026-01-02 10:00:00] [{} (165)] [INFO] [PIPELINE 0 / 1][PID 4711] "


def metrics(step):
    values = {"time/step_total": 0.0 if step == 0 else 41.5, "critic/entropy/mean": entropy(step)}
    values |= {"critic/correct/mean": reward(step), "critic/score/mean": reward(step) - 0.1}
    values |= {"actor/kl_loss": math.nan, "system/samples": (step + 1) * 64}
    return values | ({"val_correct/all/mean": reward(step) + 0.2})


def roll(tagged=True, bare=True, steps=STEPS):
    line = LOGGER.format("rlvr_pipeline.py")
    text = f"{line}create tracker stdout, kwargs: {{}}\n"
    for step in steps:
        text += f"{line}pipeline step {step} start...\n"
        text += f"{line}{json.dumps({'val_correct/all/mean': reward(step) + 0.2})}\n" if bare else ""
        tag = json.dumps({"step": step, "metrics": metrics(step)})
        text += f"{LOGGER.format('tracking.py')}metrics_tag: {tag}\n" if tagged else ""
        text += f"{line}{json.dumps([{'prompt': 'a', 'response': '{critic/'}])}\n" if bare else ""
        text += f"{line}{json.dumps(metrics(step))}\n" if bare else ""
        text += f"{line}pipeline step {step} finished\n"
    return text


HEADER = "\x1b[1;38;2;180;140;80m[AReaL]\x1b[0m \x1b[92m20260820-01:02:03.123 StatsLogger INFO: "


def table(values, columns=2):
    """Column by column, as tabulate's fancy_grid."""
    items = [(name, f"{value:.4e}" if value == value else "nan") for name, value in values.items()]
    rows = -(-len(items) // columns)
    cells = [[*items[row::rows], *[("", "")] * (columns - len(items[row::rows]))] for row in range(rows)]
    lines = ["│ " + " │ ".join(f"{n:30} │ {v:>12}" for n, v in row) + " │" for row in cells]
    width = len(lines[0]) - 2
    between = "\n├" + "─" * width + "┤\n"
    return "╒" + "═" * width + "╕\n" + between.join(lines) + "\n╘" + "═" * width + "╛"


def areal(minibatches=1, steps=STEPS):
    text = HEADER + "Evaluation Results: \n" + table({"ppo_actor/update/entropy/avg": 9.0}) + "\x1b[0m\n"
    for step in steps:
        text += f"{HEADER}Epoch 1/1 Step {step + 1}/6 Train step {step + 1}/6 done.\x1b[0m\n"
        for part in range(minibatches):
            values = {"ppo_actor/update/entropy/avg": entropy(step) - 0.01 * part}
            values |= {"ppo_actor/update/entropy/max": 8.0, "ppo_actor/update/approx_kl/avg": -1e-3}
            if part == 0:
                values |= {"ppo_actor/task_reward/avg": reward(step), "ppo_actor/kl_rewards/avg": math.nan}
                values |= {"eval-rollout/reward": reward(step) + 0.2, "timeperf/rollout": 12.5}
            text += f"{HEADER}Stats ({part + 1}/{minibatches}):\x1b[0m\n{HEADER}\n{table(values)}\x1b[0m\n"
        text += HEADER + "Evaluation Results: \n" + table({"ppo_actor/update/entropy/avg": 9.0}) + "\x1b[0m\n"
    return text


RUNNER = "\x1b[36m(Runner pid=16098)\x1b[0m "
WORKER = "\x1b[36m(WorkerDict pid=17001, ip=10.0.0.2)\x1b[0m "


def block(step, validation):
    text = f"Step {step}\n"
    if step:
        text += f"actor:\n  entropy_loss: {entropy(step - 1):.3f}\n  lr: 1.0e-06\n  pg_clipfrac_higher: 0.0\n"
        text += f"critic:\n  score:\n    max: 1.0\n    mean: {reward(step - 1):.3f}\n"
        text += "  values:\n    mean: !!float 'nan'\n"
        text += (
            f"reward:\n  accuracy: {reward(step - 1):.3f}\n  format: 0.9\n  overall: {reward(step - 1):.3f}\n"
        )
    if validation is not None:
        text += f"val:\n  accuracy_reward: {validation}\n  reward_score: {validation - 0.01:.3f}\n"
    return text


def easyr1(prefix=RUNNER, other=WORKER, steps=STEPS):
    text = f"{prefix}Config\n{prefix}algorithm:\n{prefix}  gamma: 1.0\n{prefix}\n"
    for step in range(len(steps) + 1):
        lines = block(step, 0.3 + 0.1 * step).splitlines()
        text += "".join(f"{prefix}{line}\n" for line in lines[:4])
        text += f"{other}{BAR}\n{other}memory: 3.0\n" if other else ""
        text += "".join(f"{prefix}{line}\n" for line in lines[4:]) + f"{prefix}\n"
        text += f"{prefix}{BAR}\n"
    return text + f"{prefix}Final validation metrics:\n{prefix}val:\n{prefix}  accuracy_reward: 7.0\n"


WHOLE = {"slime": slime(), "roll": roll(), "areal": areal(), "easyr1": easyr1()}


def early():
    """Rollouts are generated ahead of the training steps."""
    text = generated(0)
    for number in STEPS:
        text += generated(number + 1) + rollout(number) + training(number, entropy(number))
        text += f"perf {number}: {{'perf/train_time': 41.3}}\n"
    return text


def experiment_log():
    for step in range(7):
        entry = {"step": step, "val": {"accuracy_reward": 0.3 + 0.1 * step, "reward_score": 0.1}}
        if step:
            entry |= {"actor": {"entropy_loss": entropy(step - 1), "pg_clipfrac_higher": 0.0}}
            entry |= {"critic": {"score": {"mean": 0.1}}, "reward": {"accuracy": 0.2, "overall": 0.2}}
        yield f"{json.dumps(entry)}\n"


AXES = {"rollout/step": 7.0, "train/step": 8.0, "eval/step": 9.0}
METRICS = {"rollout/steps": 1.0, "train/step_time": 2.0, "eval/step/x": 3.0, "train/my/step": 4.0}
VALUES = (
    "rollout 3: {'rollout/a': nan, 'rollout/b': -inf, 'rollout/c': np.float64(0.25), 'rollout/d': None, "
    "'rollout/e': tensor(0.5, device='cuda:0'), 'rollout/f': [1, 2], 'rollout/g': 'text', "
    "'rollout/h': {'x': 1}, 'rollout/i': <object>, 'rollout/j k@2': 1e-06, 'rollout/l': True}\n"
)
ONE_LINE = "step 4: {'train/loss': 0.5, 'train/entr" + rollout(5) + training(5, 0.3)
YAML = (
    "Step 4\nactor:\n  'a b: c': 2.0\n  b: true\n  inf: !!float '-inf'\n"
    "  ni: !!python/object/apply:numpy._core.multiarray.scalar\n  - !!python/object/apply:numpy.dtype\n"
    "    args:\n    - i8\n    - false\n    state: !!python/tuple\n    - 3\n    - null\n  - !!binary |\n"
    "    AwAAAAAAAAA=\n  none: null\n  'on': 1.0\nempty: {}\nval:\n  '123': 1.5\n  list:\n  - 1\n  - 2\n"
    "  reward_score: 0.5\n\nactor:\n  late: 3.0\n"
)
BROKEN_ROLL = roll(bare=False)[: roll(bare=False).rindex('"critic/score')] + "\n"
BROKEN_ROW = "Train step 7/9 done.\n│ ppo_actor/a │ 1.0000e+00 │ ppo_actor/b │ 2.00"
TEXTS = {
    "slime: a row a rollout": slime(),
    "slime: of several training steps a rollout the first counts": slime(per_rollout=4),
    "slime: an evaluation behind every rollout": slime(every=1),
    "slime: and none before training": slime(every=1, first=False),
    "slime: resumed": slime(stop=4) + slime(start=2, first=False, per_rollout=1),
    "slime: started again": slime(stop=2, every=9) + slime(),
    "slime: rollouts ahead of the training are no resume": early(),
    "slime: a log whose start is lost": training(83, 9.0)
    + slime(per_rollout=4, start=21, stop=25, first=False),
    "slime: no lines of rollouts": "".join(training(step, 0.5) for step in STEPS),
    "slime: values in every form": VALUES,
    "slime: only the axes are left out": f"rollout 3: {AXES | METRICS}\n",
    "slime: two processes on one line": "rollout 4: {'rollout/raw_reward': 0.1}\n" + ONE_LINE,
    "roll: evaluates before the update": roll(),
    "roll: no lines of its tracker": roll(tagged=False),
    "roll: metrics that break off": BROKEN_ROLL,
    "areal: a table a step": areal(),
    "areal: of several tables a step the first counts": areal(minibatches=3),
    "areal: a row that breaks off": BROKEN_ROW,
    "easyr1: blocks of a runner and of a worker": easyr1(),
    "easyr1: a worker alone has a prefix": easyr1("", WORKER),
    "easyr1: no prefix": easyr1("", ""),
    "easyr1: steps behind an open bar": f"{BAR}\r{BAR}{block(1, 0.5)}\n{BAR}\r{block(2, None)}\n",
    "easyr1: what YAML makes of other objects": YAML,
}
SAMPLES = {title: (reader_of(title), "train.log", text) for title, text in TEXTS.items()}
SAMPLES["easyr1: its JSON Lines"] = ("jsonl", "experiment_log.jsonl", "".join(experiment_log()))
