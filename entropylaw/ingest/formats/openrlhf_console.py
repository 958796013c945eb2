"""OpenRLHF's console: ``✨ Global step 5: {'policy_loss': 0.01, 'entropy_loss': 0.31, 'reward': 0.5, …}``.

Every global step is logged with the means over its update, and every evaluation with its step:
``✨ Evaluation completed in 0:01:02, global_step 20, eval_metrics: {'eval_gsm8k_pass1': 0.4}``. From
``openrlhf/trainer/ppo_trainer.py`` and ``ppo_trainer_async.py`` of github.com/OpenRLHF/OpenRLHF, from 0.7 to
0.11. Trackers get the same with ``train/`` or ``eval/`` before every key, and so does the table. The postfix
of the progress bar (``ent_loss=``) has single minibatches only and is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from entropylaw.ingest.formats.console import CUT_OFF, Console, Printout, Row, dict_pairs

_TRAINED = r"Global step (?P<step>\d{1,9})(?: \[\w{1,40}\])?: "
_EVALUATED = r"Evaluation completed in [^,]{1,40}, global_step (?P<evaluated>\d{1,9}), eval_metrics: "
_ENTRY = re.compile(rf"(?:{_TRAINED}|{_EVALUATED})\{{(?=')", re.ASCII)


def rows(lines: Iterable[str], printout: Printout) -> Iterator[Row]:
    """Yield a row for each global step, and one for each evaluation."""
    for line in lines:
        for entry in _ENTRY.finditer(line):
            prefix = "train" if entry["step"] else "eval"
            values, ended, end = dict_pairs(line, entry.end())
            # Some versions leave a text of the policy's in the dict, behind everything else.
            if ended or line.startswith("'generated_samples'", end):
                named = {f"{prefix}/{key}": value for key, value in values.items()}
                yield {"train/global_step": float(entry["step"] or entry["evaluated"]), **named}
            else:
                printout.dropped[CUT_OFF] += 1


CONSOLE = Console(
    rows=rows,
    matches=re.compile(rf"{_TRAINED}\{{(?=')", re.ASCII).search,
    needles=("Global step ",),
    needle="lobal",  # of Global step and of global_step
    form="metrics as OpenRLHF logs them ('Global step 5: {'policy_loss': 0.01, …}')",
)
