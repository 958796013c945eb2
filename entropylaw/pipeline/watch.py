"""The stop line while a run is training: by updates, by its log, or as a callback of transformers and TRL.

Nothing here raises into a training loop: what is wrong is said once. A run is judged before anything is said,
so that no failure of what prints the lines changes a judgement. Only state and forecast are computed; the law
is fitted by ``entropylaw fit``. The module imports neither transformers nor TRL.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np

from entropylaw.analysis.law.evaluations import rewarded
from entropylaw.analysis.state import state_of
from entropylaw.analysis.stop import stop_line
from entropylaw.arguments import as_callable, as_path, as_positive, text_or_none, texts
from entropylaw.arrays import FloatArray
from entropylaw.engine.levels import MOST
from entropylaw.errors import EntropyLawError, UsageError
from entropylaw.escaping import in_ascii, one_line, shown
from entropylaw.logs.growing import GrowingLog, run_in
from entropylaw.logs.load import is_useful
from entropylaw.logs.runs import Run, Table
from entropylaw.logs.sources.gather import Records
from entropylaw.report.numbers import format_step
from entropylaw.report.words import stop_words
from entropylaw.results.axis import STEP, axis_of, on_axis
from entropylaw.results.result import replace
from entropylaw.results.stop import STOPPING, StopLine
from entropylaw.roles.rewards import select_all
from entropylaw.units import LOSABLE, largest_reward, sort_of_number


class _Evaluations(NamedTuple):
    """The evaluations of one reward by its label, arrays of shape (n,); no entropy where none was logged.

    ``max_reward`` is the largest that is possible, None where that is unknown, and ``end`` the last step of
    the run. Only a score stops a run: a length, a cost or a divergence is none.
    """

    label: str
    step: FloatArray
    entropy: FloatArray | None
    reward: FloatArray
    max_reward: float | None
    is_score: bool
    end: float | None
    axis: str = STEP

    def digest(self) -> bytes:
        """A digest of their values."""
        content = (self.label, self.step.size, self.entropy is None, self.is_score, self.max_reward, self.end)
        digest = sha256(repr(content).encode())
        for values in (self.step, self.entropy, self.reward):
            if values is not None:
                digest.update(values.tobytes())
        return digest.digest()


def _print_at_once(text: str) -> None:
    """Print a line, and flush it: a full device is noticed with the line that it has no room for."""
    print(text, flush=True)


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
        Which of ``"stop"``, ``"broken"`` and ``"exploded"`` set :attr:`should_stop`; by default none.
    say
        Is called with each line of text, after the run was judged; by default it is printed. A line with
        which it fails is written to standard error, in ASCII.

    Attributes
    ----------
    lines
        The latest stop line of every reward.
    should_stop
        Whether every score says one of ``stop_on``; a length, a cost or a divergence stops nothing.

    Raises UsageError ``bad-argument`` for arguments; the methods raise nothing. A run is judged anew by every
    change of its evaluations, and of the planned end, gain, cost or largest reward: the lines are those of a
    new watcher with the same evaluations.
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
        say: Callable[[str], object] = _print_at_once,
    ) -> None:
        self.steps = as_positive(steps, "steps")
        self.gain = as_positive(gain, "gain")
        self.cost_per_step = as_positive(cost_per_step, "cost_per_step")
        self.max_reward = as_positive(max_reward, "max_reward")
        self._entropy = text_or_none(entropy, "entropy")
        self._reward = texts(reward, "reward")
        self.stop_on = texts(stop_on, "stop_on")
        if unknown := set(self.stop_on) - set(STOPPING):
            raise UsageError(
                "bad-argument",
                f"stop_on has {shown(min(unknown))}, expected some of {', '.join(STOPPING)}",
                "give ('stop', 'broken')",
            )
        self.say = as_callable(say, "say")
        self.lines: tuple[StopLine, ...] = ()
        self._judged: dict[tuple[object, ...], StopLine] = {}
        self._last_said: dict[str, StopLine] = {}
        self._complaints: set[str] = set()
        self._unsaid: list[str] = []
        self._silent = False
        self._log = None if log is None else GrowingLog(as_path(log, "log"), self._tell)
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
            self._take(step, entropy, rewards)
            self._judge(self._updated())
        return self.lines

    def _take(self, step: object, entropy: object, rewards: object) -> None:
        """Take the values of a step, the entropy under no name; later steps are forgotten."""
        row = self._row(step)
        named = rewards if isinstance(rewards, Mapping) else {"reward": rewards}
        for name, value in (("", entropy), *named.items()):
            number = _number(value)
            if number is not None and math.isfinite(number):
                row[str(name)] = number
            elif number is None and value is not None:
                column = f"reward {name}" if name else "entropy"
                self._complain(f"the {column} is a {type(value).__name__}, not a number: it is left out")

    def _row(self, step: object) -> dict[str, float]:
        """The values so far of a step, after those of later steps were forgotten."""
        at = _number(step)
        if at is None or not math.isfinite(at):
            raise UsageError("bad-argument", f"the step {shown(step)} is not a number", "give the trainer's")
        steps = self._rows.keys()
        if steps and at < max(steps) and at <= min(steps):
            self._tell(f"restarted at step {format_step(at)}: the run before it is forgotten")
            self._rows = {}
        self._rows = {earlier: row for earlier, row in self._rows.items() if earlier <= at}
        return self._rows.setdefault(at, {})

    def _updated(self) -> Iterator[_Evaluations]:
        """The rewards of all updates, each with the last entropy up to its step, if there is any."""
        columns: dict[str, dict[float, float]] = {"": {}}
        for at_step, row in self._rows.items():
            for name, value in row.items():
                columns.setdefault(name, {})[at_step] = value
        entropies = columns.pop("")
        for name, values in columns.items():
            step = np.array(list(values))
            reward = np.array(list(values.values()))
            entropy: FloatArray | None = None
            if entropies:
                # The number of entropies up to each step; rewards before the first entropy have none.
                earlier = np.searchsorted(list(entropies), step, side="right")
                entropy = np.array([np.nan, *entropies.values()])[earlier]
            is_score = sort_of_number(name) in LOSABLE
            yield _Evaluations(
                name, step, entropy, reward, largest_reward(name, reward), is_score, max(self._rows)
            )

    def read(self) -> tuple[StopLine, ...]:
        """Read the log again, and return the stop line of every reward."""
        with self._guarded():
            if self._log is None:
                raise UsageError("no-log", "the watcher has no log", "give its path: Watcher(PATH)")
            self._judge(_rewards(self._log.read(), self._entropy, self._reward))
        return self.lines

    def _judge(self, rewards: Iterable[_Evaluations]) -> None:
        """Make the stop lines; a reward whose line depends on the same values as before keeps it."""
        judged: dict[tuple[object, ...], StopLine] = {}
        try:
            for evaluations in rewards:
                key = (evaluations.digest(), self.steps, self.gain, self.cost_per_step, self.max_reward)
                judged[key] = self._judged.get(key) or self._line_of(evaluations)
        except Exception:
            # No line is left of evaluations that are no longer those of the run.
            self.lines = ()
            raise
        self._judged = judged
        self.lines = tuple(judged.values())
        for line in self.lines:
            if _is_news(line, self._last_said.get(line.reward)):
                self._last_said[line.reward] = line
                self._unsaid.append(on_axis(stop_words(line), line.axis))

    def _line_of(self, evaluations: _Evaluations) -> StopLine:
        """The stop line of a reward."""
        max_reward = self.max_reward or evaluations.max_reward
        used = rewarded(evaluations.step, evaluations.entropy, evaluations.reward)
        state = state_of(
            used.step,
            used.reward,
            end=evaluations.end,
            max_reward=max_reward,
            gain=self.gain,
            is_score=evaluations.is_score,
        )
        line = stop_line(
            used,
            state,
            steps=self.steps,
            cost_per_step=self.cost_per_step,
            max_reward=max_reward,
            label=evaluations.label,
            is_score=evaluations.is_score,
        )
        return replace(line, axis=evaluations.axis)

    @contextmanager
    def _guarded(self) -> Iterator[None]:
        """Say an error, each once, in place of raising it into a training loop; and what else is to be said.

        Nothing is said before the run was judged.
        """
        try:
            yield
        except Exception as error:
            self._complain(_words_of(error))
        while self._unsaid:
            text = self._unsaid.pop(0)
            if self._silent:
                continue
            try:
                self.say(text)
            except Exception as error:
                # The line goes to standard error, with the reason once.
                lines = [text]
                reason = f"entropylaw: the line could not be said ({_words_of(error)})"
                if reason not in self._complaints:
                    self._complaints.add(reason)
                    lines.append(one_line(reason))
                with suppress(Exception):
                    for line in lines:
                        print(in_ascii(line), file=sys.stderr, flush=True)

    def _complain(self, text: str) -> None:
        """Have said what is wrong, once."""
        if text not in self._complaints:
            self._complaints.add(text)
            self._tell(one_line(text))

    def _tell(self, text: str) -> None:
        """Have a sentence said."""
        self._unsaid.append(f"entropylaw: {text}")


def _is_news(line: StopLine, said: StopLine | None) -> bool:
    """Whether a stop line is said after another one of its reward, which is None for the first.

    Lines that are nearer than a 48th of the evaluations say much the same, unless the word or its reason
    changes, or evaluations were taken back.
    """
    if said is None:
        return True
    if (line.says, line.why_none, line.exploded_since) != (said.says, said.why_none, said.exploded_since):
        return True
    if line.expected is None or line == said:
        return False
    later = line.evaluations - said.evaluations
    return later <= 0 or later >= said.evaluations / MOST


def _words_of(error: Exception) -> str:
    """What went wrong, in one line; of an error without a text its kind."""
    if isinstance(error, EntropyLawError):
        return error.message
    kind = type(error).__name__
    with suppress(Exception):
        return f"{kind}: {error}"
    return kind


def _number(value: object) -> float | None:
    """A number of a training loop, also one of NumPy or PyTorch; None for anything else."""
    if value is None or isinstance(value, bool | str | bytes):
        return None
    # An object of a training loop may raise anything.
    with suppress(Exception):
        return float(value)  # type: ignore[arg-type]
    return None


def _rewards(run: Run, entropy: str | None, reward: Sequence[str]) -> Iterator[_Evaluations]:
    """The rewards of a run as ``entropylaw fit`` chooses them."""
    for series in select_all(run, entropy=entropy, reward=reward):
        label = series.label or series.reward_choice.column
        step, entropies, values = series.evaluations
        is_score = series.reward_choice.is_score
        axis = axis_of(run.step_column)
        yield _Evaluations(label, step, entropies, values, series.max_reward, is_score, series.end, axis)


class EntropyLawCallback:
    """A callback of transformers' ``Trainer`` and of TRL: a stop line in the log at every evaluation.

    >>> trainer = GRPOTrainer(..., callbacks=[entropylaw.EntropyLawCallback()])  # doctest: +SKIP

    Parameters
    ----------
    options
        As for :class:`Watcher`; without ``steps`` the planned end of each training is that of its trainer,
        and nothing ends one without.

    A run that is resumed from a checkpoint has its earlier log, which is judged with what follows. Of several
    trainings with one callback each is judged alone.
    """

    def __init__(self, **options: Any) -> None:
        self.watcher = Watcher(**options)
        self._steps = self.watcher.steps
        self._forget()

    def __getattr__(self, name: str) -> Any:
        """Events of a training that nothing is done at."""
        if not name.startswith("on_"):
            raise AttributeError(name)
        return lambda *_, **__: None

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        """Forget an earlier training."""
        self._forget()

    def _forget(self) -> None:
        """Know of no record, and have no judgement."""
        self.watcher.lines = ()
        self._records = Records(is_useful)
        self._history: list[Any] = []

    def on_log(self, args: Any, state: Any, control: Any, **_: Any) -> None:
        """Judge the run by all that was logged, and stop it where that is among the options."""
        del args
        watcher = self.watcher
        with watcher._guarded():
            watcher._silent = not getattr(state, "is_world_process_zero", True)
            run = self._run(state)
            planned = None if self._steps else _number(state.max_steps)
            watcher.steps = self._steps
            if planned is not None and 0 < planned < math.inf:
                watcher.steps = planned
            if run is not None:
                watcher._judge(_rewards(run, watcher._entropy, watcher._reward))
            if watcher.should_stop:
                control.should_training_stop = True

    def _run(self, state: Any) -> Run | None:
        """The run by the log of a trainer, of which only what is new is read; None without any record."""
        history = [dict(record) if isinstance(record, dict) else {} for record in state.log_history]
        is_continued = False
        # Arrays cannot be compared: they may be others.
        with suppress(Exception):
            is_continued = bool(history[: len(self._history)] == self._history)
        if not is_continued:
            # Another training, or this one from an earlier step.
            self._forget()
        for record in history[len(self._history) :]:
            numbers: dict[str, float] = {}
            for name, value in {"step": state.global_step, **record}.items():
                number = _number(value)
                if number is not None and math.isfinite(number):
                    numbers[str(name)] = number
            self._records.add(numbers)
        self._history = history
        if not history:
            return None
        return run_in(
            Table(columns=self._records.columns(0)[0], rows=self._records.rows), "trainer", "trainer-state"
        )
