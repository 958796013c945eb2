"""The stop line while a run is training: by updates, by its log, or as a callback of transformers and TRL.

Nothing here raises into a training loop: what is wrong is said once. Only the forecast is computed; a curve
is fitted by ``entropylaw fit``. The module imports neither transformers nor TRL.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np

from entropylaw.analysis.stop import fails_lately, stop_line
from entropylaw.arguments import as_positive, texts
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import MOST
from entropylaw.errors import EntropyLawError, InputError, UsageError
from entropylaw.escaping import one_line
from entropylaw.logs import catalog
from entropylaw.logs.growing import GrowingLog, run_in, useful
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.sources.gather import Records
from entropylaw.report.numbers import format_step
from entropylaw.report.words import stop_words
from entropylaw.results.stop import STATES, StopLine
from entropylaw.roles.rewards import select_all
from entropylaw.units import LOSABLE, largest_reward, sort_of_number

Evaluations = tuple[str, FloatArray, FloatArray | None, FloatArray, float | None, bool]
"""The label, steps, entropies, values and largest value of one reward; (n,) each; whether it is a score."""


class Watcher:
    """The stop lines of a run that is training.

    >>> watcher = entropylaw.Watcher(steps=400)  # doctest: +SKIP
    >>> for line in watcher.update(step, entropy=0.41, rewards={"gsm8k": 0.62}):  # doctest: +SKIP
    ...     print(line)

    Parameters
    ----------
    log
        The log of the run, for :meth:`read`: verl's file log, a console, a file of W&B or TensorBoard.
    steps, cost_per_step, gain
        The planned end, what a step costs, and the gain of reward that counts, as for ``entropylaw fit``.
    max_reward
        The largest reward that is possible, 1 for accuracies; by default where a reward's name says it.
    entropy, reward
        Columns of the log, as there; by default those that the catalog has.
    stop_on
        Which of ``"stop"``, ``"lost"`` and ``"exploded"`` set :attr:`should_stop`; by default none.
    say
        Is called with each line of text.

    Attributes
    ----------
    lines
        The latest stop line of every reward.
    should_stop
        Whether every score says one of ``stop_on``; a length, a cost or a divergence stops nothing.

    Raises UsageError ``bad-argument`` for arguments; the methods raise nothing.
    """

    def __init__(
        self,
        log: str | os.PathLike[str] | None = None,
        *,
        steps: float | None = None,
        cost_per_step: float | None = None,
        gain: float | None = None,
        max_reward: float | None = None,
        entropy: str | None = None,
        reward: str | Sequence[str] | None = None,
        stop_on: str | Sequence[str] = (),
        say: Callable[[str], object] = print,
    ) -> None:
        self.steps = as_positive(steps, "steps")
        self.gain = as_positive(gain, "gain")
        self.cost_per_step = as_positive(cost_per_step, "cost_per_step")
        self.max_reward = as_positive(max_reward, "max_reward")
        self._columns: dict[str, Any] = {"entropy": entropy, "reward": reward}
        self.stop_on = tuple(texts(stop_on, "stop_on"))
        if unknown := set(self.stop_on) - set(STATES):
            message = f"stop_on has {sorted(unknown)[0]!r}, expected some of {', '.join(STATES)}"
            raise UsageError("bad-argument", message, "give ('stop', 'lost')")
        self.lines: tuple[StopLine, ...] = ()
        self.say, self._said = say, set[tuple[Any, ...]]()
        self._log = None if log is None else GrowingLog(log, lambda text: self.say(f"entropylaw: {text}"))
        self._rows: dict[float, dict[str, float]] = {}

    @property
    def should_stop(self) -> bool:
        """Whether every score says one of the states that are to stop the run."""
        scores = [line for line in self.lines if line.is_score]
        return bool(scores) and all(line.says in self.stop_on for line in scores)

    def update(
        self, step: float, *, entropy: float | None = None, rewards: Mapping[str, float] | float
    ) -> tuple[StopLine, ...]:
        """Take an evaluation, and return the stop line of every reward.

        A step before the last one is that of a run which was resumed: later evaluations are
        forgotten. Values that are not finite numbers are left out; one that is no number at all is said.
        """
        with self._guarded():
            row = self._row(step)
            named = rewards if isinstance(rewards, Mapping) else {"reward": rewards}
            for name, value in (("", entropy), *named.items()):
                number = _number(value)
                if number is not None and math.isfinite(number):
                    row[str(name)] = number
                elif number is None and value is not None:
                    column = f"reward {name}" if name else "entropy"
                    self._complain(f"the {column} is a {type(value).__name__}, not a number: it is left out")
            self._judge(self._updated())
        return self.lines

    def _row(self, step: object) -> dict[str, float]:
        """The values of a step, the entropy without a name; later steps are forgotten."""
        at = _number(step)
        if at is None or not math.isfinite(at):
            raise UsageError("bad-argument", f"the step {step!r} is not a number", "give the trainer's")
        if len(self._rows) > 1 and at <= min(self._rows):
            self.say(f"entropylaw: restarted at step {format_step(at)}: the run before it is forgotten")
        self._rows = {earlier: row for earlier, row in self._rows.items() if earlier <= at}
        return self._rows.setdefault(at, {})

    def _updated(self) -> Iterator[Evaluations]:
        """The rewards of all updates, each with the last entropy up to its step, if there is any."""
        columns: dict[str, dict[float, float]] = {"": {}}
        for at_step, row in self._rows.items():
            for name, value in row.items():
                columns.setdefault(name, {})[at_step] = value
        entropies = columns.pop("")
        for name, values in columns.items():
            step, reward = np.array([*values]), np.array([*values.values()])
            at = np.searchsorted([*entropies], step, side="right") - 1
            # Rewards before the first entropy have none.
            logged = np.array([np.nan, *entropies.values()])
            entropy = logged[at + 1] if entropies else None
            is_score = sort_of_number(name) in LOSABLE
            yield name, step, entropy, reward, largest_reward(name, reward), is_score

    def read(self) -> tuple[StopLine, ...]:
        """Read what is new in the log, and return the stop line of every reward."""
        with self._guarded():
            if self._log is None:
                raise UsageError("no-log", "the watcher has no log", "give its path: Watcher(PATH)")
            self._judge(_rewards(self._log.read(), **self._columns))
        return self.lines

    def _judge(self, rewards: Iterable[Evaluations]) -> None:
        """Make the stop lines, and say those that are new."""
        before = {line.reward: line for line in self.lines}
        lines = []
        for label, step, entropy, reward, max_reward, is_score in rewards:
            line = before.get(label)
            if line is not None:
                later = reward.size - line.evaluations
                near = 0 < later < -(-line.evaluations // MOST)
                if later == 0 or (near and not fails_lately(step, entropy, reward)):
                    lines.append(line)
                    continue
            line = stop_line(
                *(step, entropy, reward),
                steps=self.steps,
                gain=self.gain,
                cost_per_step=self.cost_per_step,
                max_reward=self.max_reward or max_reward,
                label=label,
                is_score=is_score,
            )
            lines.append(line)
            new = label, line.why_none, line.exploded_since
            if line.expected is not None or new not in self._said:
                self._said.add(new)
                self.say(stop_words(line))
        self.lines = tuple(lines)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Say an error, each once, in place of raising it into a training loop."""
        try:
            yield
        except Exception as error:
            text = error.message if isinstance(error, EntropyLawError) else f"{type(error).__name__}: {error}"
            self._complain(text)

    def _complain(self, text: str) -> None:
        """Say what is wrong, once."""
        if ("", text) not in self._said:
            self._said.add(("", text))
            with suppress(Exception):
                self.say(f"entropylaw: {one_line(text)}")


def _number(value: object) -> float | None:
    """A number of a training loop, also one of NumPy or PyTorch; None for anything else."""
    if value is None or isinstance(value, bool | str | bytes):
        return None
    with suppress(TypeError, ValueError, OverflowError, RuntimeError):
        return float(value)  # type: ignore[arg-type]
    return None


def _rewards(run: Run, entropy: str | None, reward: str | Sequence[str] | None) -> Iterator[Evaluations]:
    """The rewards of a run as ``entropylaw fit`` chooses them; without an entropy those of the catalog."""
    try:
        for series in select_all(run, entropy=entropy, reward=reward):
            label = series.label or series.reward_choice.column
            yield label, *series.evaluations, series.max_reward, series.reward_choice.is_score
    except InputError as error:
        columns = texts(reward, "reward") or _catalogued(run)
        if error.slug != "no-entropy-column" or not columns:
            raise
        for column in columns:
            there = np.isfinite(run.columns[column])
            values = run.columns[column][there]
            if values.size:
                is_score = sort_of_number(column) in LOSABLE
                yield column, run.step[there], None, values, largest_reward(column, values), is_score


def _catalogued(run: Run) -> tuple[str, ...]:
    """The validation rewards that the catalog has, or else the training rewards."""
    matches = catalog.found(run, "validation") or catalog.found(run, "training")
    return tuple(match.column for match in matches)


class EntropyLawCallback:
    """A callback of transformers' ``Trainer`` and of TRL: a stop line in the log at every evaluation.

    >>> trainer = GRPOTrainer(..., callbacks=[entropylaw.EntropyLawCallback()])  # doctest: +SKIP

    Parameters
    ----------
    options
        As for :class:`Watcher`; the planned end is that of the trainer, and by default nothing ends it.

    A run that is resumed from a checkpoint has its earlier log, which is judged with what follows.
    """

    def __init__(self, **options: Any) -> None:
        self.watcher = Watcher(**options)
        self._records = Records(useful)

    def __getattr__(self, name: str) -> Any:
        """Events of a training that nothing is done at."""
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *_, **__: None

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Judge the run by all that was logged, and stop it where that is among the options."""
        del args
        watcher = self.watcher
        with watcher._guarded():
            if not getattr(state, "is_world_process_zero", True):
                watcher.say = str
            planned = _number(state.max_steps)
            if watcher.steps is None and planned is not None and 0 < planned < math.inf:
                watcher.steps = planned
            if state.log_history:
                watcher._judge(_rewards(self._run(state), **watcher._columns))
            if watcher.should_stop:
                control.should_training_stop = True

    def _run(self, state: Any) -> Run:
        """The run by the log of a trainer, of which only what is new is read."""
        if len(state.log_history) < self._records.rows:  # another training
            self._records = Records(useful)
        for entry in state.log_history[self._records.rows :]:
            values = {"step": state.global_step, **(entry if isinstance(entry, dict) else {})}
            numbers = ((str(name), _number(value)) for name, value in values.items())
            self._records.add({name: x for name, x in numbers if x is not None and math.isfinite(x)})
        table = Table(columns=self._records.columns(0)[0], rows=self._records.rows)
        return run_in(table, "trainer", "trainer-state")
