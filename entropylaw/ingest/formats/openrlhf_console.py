"""OpenRLHF's console: ``✨ Global step 5: {'policy_loss': 0.01, 'entropy_loss': 0.31, 'reward': 0.5, …}``.

Every global step is logged with the means over its update, and every evaluation with its step:
``✨ Evaluation completed in 0:01:02, global_step 20, eval_metrics: {'eval_gsm8k_pass1': 0.4}``. From
``openrlhf/trainer/ppo_trainer.py`` and ``ppo_trainer_async.py`` of github.com/OpenRLHF/OpenRLHF, from 0.7 to
0.11. Trackers get the same with ``train/`` or ``eval/`` before every key, and so does the table. The postfix
of the progress bar (``ent_loss=``) has single minibatches only and is not read.
"""

from __future__ import annotations

import re

from entropylaw.ingest.content import Content
from entropylaw.ingest.formats.printed import CUT_OFF, console_table, dict_pairs, lines
from entropylaw.ingest.gather import Records
from entropylaw.ingest.table import Table

_ENTRY = re.compile(
    r"(?:Global step (?P<step>\d{1,9})(?: \[\w{1,40}\])?: "
    r"|Evaluation completed in [^,]{1,40}, global_step (?P<evaluated>\d{1,9}), eval_metrics: )\{(?=')",
    re.ASCII,
)
# Some versions leave a text of the policy's in the dict, behind everything else.
_SAMPLES = "'generated_samples'"


class OpenRlhfConsoleReader:
    """Reads what OpenRLHF's trainer with Ray logs of every global step."""

    name = "openrlhf"
    suffixes = (".log", ".out", ".txt")
    about = "the metrics that it logs of every global step"

    def recognises(self, content: Content) -> bool:
        """Whether a global step is logged anywhere."""
        text = content.opening
        return "Global step " in text and any(entry["step"] for entry in _ENTRY.finditer(text))

    def read(self, content: Content) -> Table:
        """Read it, line by line.

        Raises
        ------
        InputError
            ``no-records`` where no whole entry is there.

        """
        records = Records(content.wanted)
        cut_off = 0
        for line in lines(content, "lobal"):  # of Global step and of global_step
            for entry in _ENTRY.finditer(line):
                prefix = "train" if entry["step"] else "eval"
                values, ended, end = dict_pairs(line, entry.end())
                if ended or line.startswith(_SAMPLES, end):
                    step = float(entry["step"] or entry["evaluated"])
                    named = {f"{prefix}/{key}": value for key, value in values.items()}
                    records.add({"train/global_step": step, **named})
                else:
                    cut_off += 1
        form = "OpenRLHF logs them ('Global step 5: {'policy_loss': 0.01, …}')"
        return console_table(content, records, form, dropped={CUT_OFF: cut_off})
