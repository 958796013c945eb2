"""The golden cases: for each transcript its commands, and the inputs in the folder where they run."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.golden import inputs

VALID = "clean_start_s0/metrics.parquet"
FAILING = "grpo_s0/metrics.parquet"

ALL = "-o {0}.json -o {0}.csv -o {0}.md"
"""The files of a result in every format that has a suffix; standard output has the text."""


@dataclass(frozen=True, slots=True)
class Case:
    """Commands as a user types them, without ``entropylaw``, one after another in one folder."""

    inputs: tuple[Callable[[Path], None], ...]
    commands: tuple[str, ...]


valid, failing = inputs.lab("clean_start_s0"), inputs.lab("grpo_s0")

CASES = {
    "fit-valid": Case((valid,), (f"fit {VALID} {ALL.format('fit')} -o fit.txt", f"fit {VALID} -q")),
    "fit-failing": Case((failing,), (f"fit {FAILING}",)),
    "fit-options": Case(
        (valid,),
        (f"fit {VALID} --level 0.8 --pair next --format csv -o -",),
    ),
    "fit-several": Case((inputs.three,), ("fit three.csv -o fit.csv -o fit.md",)),
    "fit-no-entropy": Case(
        (inputs.refused,),
        (
            "fit no_entropy.csv -o fit.json -o fit.csv -o -",
            "fit no_entropy.csv --details -o -",
            "predict fit.json --target-entropy 0.05",
            "plot law fit.json -o law.svg",
        ),
    ),
    "fit-refused": Case(
        (inputs.refused,),
        (
            f"fit short.csv {ALL.format('fit')}",
            "fit short.csv -o short.csv",
            "fit no_entropy.csv --entropy nothing",
            "fit garbage.csv --format json -o -",
            "fit none.csv",
        ),
    ),
    "fit-mixed": Case(
        (inputs.mixed,),
        ("fit mixed -o fit.json -o fit.csv", "fit mixed/good.csv mixed/short.csv mixed/garbage.csv -o -"),
    ),
    "predict-law": Case(
        (valid, inputs.stored(f"fit {VALID} -o reports/a.fit.json")),
        (
            *(
                f"predict --target-entropy 0:0.4:0.2 --target-reward 0.5 --format {kind}"
                for kind in ("text", "markdown", "csv", "json")
            ),
            "predict reports/a.fit.json --target-reward 0.9 --level 0.5 -o high.md",
        ),
    ),
    "predict-ahead": Case(
        (failing, inputs.stored(f"fit {FAILING} -o a.json")),
        tuple(
            f"predict a.json --at-step 450 --at-step 800 --gain 0.01 --format {kind}"
            for kind in ("text", "markdown", "csv", "json")
        ),
    ),
    "fit-slip": Case((inputs.awkward,), ("fit slip.csv -o -", "fit slip.csv --keep-outliers -o -")),
    "predict-refused": Case(
        (inputs.refused, inputs.good, inputs.awkward),
        (
            "predict few.csv --at-step 100",
            "predict --target-entropy 0.1",
            "predict good.csv",
            "predict good.csv --gain 0.1",
            "predict short.csv --target-entropy 0.1 --format json",
            "predict good.csv --target-entropy -1",
            "predict good.csv --at-step 5",
        ),
    ),
    "columns": Case(
        (valid, inputs.three, inputs.curves),
        (
            f"columns {VALID}",
            f"columns {VALID} --format json",
            "columns three.csv",
            "columns curves.csv --entropy entropy_planning",
        ),
    ),
    "columns-refused": Case(
        (inputs.mixed,),
        ("columns mixed", "columns mixed --format json", "columns mixed/garbage.csv", "columns none.csv"),
    ),
    "check-outcomes": Case(
        (inputs.three, inputs.stored("fit three.csv -o fit.json")),
        (
            "check fit.json --fail-if 'ceiling<0.4' --fail-if 'ceiling<0.55' --fail-if 'n<31' "
            "--fail-if fails -o check.json -o check.md --junit check.xml -o check.txt -o -",
            "check fit.json --fail-if 'ceiling<0.55' --strict",
            "check fit.json --fail-if 'ceiling<0.55' --point --even-if-fail",
            "check fit.json --fail-if 'onset_planning<1' --fail-if 'saturation_step<1'",
            "check fit.json --fail-if state==broken --fail-if 'gained<0' --fail-if 'p_ever<10%' "
            "--fail-if 'change<0.1'",
            "check fit.json --fail-if 'regression(fit.json)>1%' --fail-if 'regression(ceiling,fit.json)>1%'",
        ),
    ),
    "check-passed": Case(
        (inputs.good,),
        (
            "check good.csv --fail-if 'ceiling<0.1' --fail-if fails "
            "--junit check.xml -o check.md -o check.json -o -",
        ),
    ),
    "check-refused": Case(
        (inputs.mixed,),
        (
            "check mixed --fail-if 'ceiling<0.1' -o check.json -o check.md --junit check.xml -o -",
            "check mixed/short.csv --fail-if 'ceiling<0.1'",
            "check mixed/no_entropy.csv --fail-if state==broken --fail-if 'now<0.1' --fail-if fails",
            "check mixed/good.csv",
            "check mixed/good.csv --fail-if 'ceilling<0.1'",
            "check mixed/good.csv --fail-if 'ceiling<'",
        ),
    ),
    "compare": Case(
        (inputs.arms,),
        (
            f"compare runs --baseline plain {ALL.format('arms')} -o arms.tex -o -",
            "compare runs --baseline plain --details -q -o -",
            "compare a=runs/plain_s0 b=runs/bonus_s0 -q",
            "check arms.json --fail-if difference(bonus,plain).reward_at_entropy<0",
            "check arms.json --fail-if difference(plain,bonus).last_reward>-0.01",
        ),
    ),
    "compare-refused": Case(
        (inputs.arms, inputs.refused),
        (
            "compare runs/plain_s0",
            "compare a=runs/plain_s0 b=runs/plain_s0",
            "compare runs --baseline nobody",
            "compare runs --arms '^x'",
            "compare a=runs/plain_s0 b=garbage.csv",
        ),
    ),
    "phases-both": Case((inputs.curves,), ("phases curves.csv -o phases.json -o -",)),
    "phases-ordered": Case(
        (inputs.ordered,),
        ("phases ordered.csv -o -", "phases plans.csv --planning entropy_semantic -o - -o plans.md"),
    ),
    "phases-several": Case(
        (failing, inputs.curves), (f"phases grpo_s0 curves.csv curves_short.csv {ALL.format('phases')} -o -",)
    ),
    "phases-single": Case((inputs.good,), ("phases good.csv -o phases.json -o -",)),
    "phases-refused": Case(
        (inputs.curves, inputs.refused),
        (
            f"phases curves_short.csv {ALL.format('short')}",
            "phases curves_short.csv --format json",
            "phases no_entropy.csv",
            "phases curves.csv --planning entropy_plan",
        ),
    ),
    "report-several": Case(
        (inputs.good, inputs.refused),
        ("report good.csv short.csv -o pages --figures none --jobs 1",),
    ),
    "report-one": Case((inputs.curves,), ("report curves.csv -o pages --figures svg --jobs 1",)),
    "report-stored": Case(
        (failing, inputs.stored("fit grpo_s0 -o fit.json")),
        ("report fit.json -o pages --figures none --jobs 1",),
    ),
    "report-refused": Case(
        (inputs.refused,),
        (
            "report no_entropy.csv garbage.csv -o pages --jobs 1",
            "report none.csv -o pages",
            "report short.csv --figures gif",
        ),
    ),
    "tokens": Case(
        (inputs.tokens,),
        (
            "tokens tokens.jsonl -o steps.csv",
            "tokens tokens.jsonl -q -o steps.json",
            "tokens tokens.jsonl",
            "phases steps.csv",
        ),
    ),
    "tokens-classes": Case(
        (inputs.tokens, inputs.good),
        (
            "tokens tokens.jsonl --class '' --top-quantile 0.2",
            "tokens tokens.jsonl --class '' --grams grams.txt -q",
            "tokens good.csv",
            "tokens tokens.jsonl --top-quantile 2",
        ),
    ),
    "samples": Case(
        (inputs.counts,),
        (
            "samples counts.csv -o steps.csv -o samples.json",
            "samples counts.csv --against 0",
            "samples columns counts.csv",
            "samples counts.csv --k 99",
        ),
    ),
    "plot": Case(
        (inputs.curves, inputs.three, inputs.refused),
        (
            "plot law curves.csv -o law.svg",
            "plot forecast curves.csv -o forecast.png",
            "plot phases curves.csv -o phases.pdf -q",
            "plot law three.csv -o law.svg",
            "plot law three.csv --run seed1 -o law.svg",
            "plot law short.csv -o short.svg",
            "plot law curves.csv -o law.gif",
        ),
    ),
    "config": Case(
        (inputs.settings, inputs.good),
        ("check good.csv", "--config none.toml fit good.csv", "--config good.csv fit good.csv"),
    ),
    "config-none": Case((), ("fit", "--version", "nothing")),
}
