"""The fields of results that a medium leaves out, each with the reason, for ``test_every_field``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Left:
    """Fields that some media leave out; ``media`` are results and media, ``fields`` a regular expression."""

    why: str
    media: tuple[str, ...]
    fields: str


FIT = ("fit text", "fit markdown", "fit csv")
PREDICTION = ("prediction text", "prediction markdown", "prediction csv")
BACKTEST = ("backtest text", "backtest markdown", "backtest csv")
PHASES = ("phases text", "phases markdown", "phases csv")
COLUMNS = ("columns text", "columns markdown", "columns csv")
CHECK = ("check text", "check markdown", "check junit")
TABLES = ("report markdown", "report csv")
CSV = ("fit csv", "report csv")
REPORT = (*TABLES, "report html")
LAWS = (*FIT, *REPORT)

NOT_SHOWN: tuple[Left, ...] = (
    Left(
        "where a result comes from: the JSON has it, and a report's page",
        (*FIT, *PREDICTION, *BACKTEST, *PHASES, *CHECK, *TABLES),
        r"inputs\..*|version|schema",
    ),
    Left("the file is named by its path", COLUMNS, r"source\.sha256"),
    Left("an option: what came of it is shown", (*FIT, *PHASES, *TABLES), r"settings\..*"),
    Left(
        "the level stands once above the table, and a standard error says less than the interval",
        (*LAWS, *PHASES),
        r"ESTIMATES\.(level|std_error)",
    ),
    Left(
        "the catalog's own words: `why` says which key it is, a note that a sign was undone",
        (*LAWS, *COLUMNS),
        r"(runs\.)?(entropy|reward)(_column)?\.meaning\.(role|trainer|sign)",
    ),
    Left("the run's own name is shown", LAWS, r"runs\.law\.run"),
    Left("what predictions are computed from", LAWS, r"runs\.law\.(posterior|noise_floor)"),
    Left(
        "curves, which the figures draw",
        LAWS,
        r"runs\.law\.(course|fitted|curve\..*)",
    ),
    Left(
        "a fact about the form, in its formula",
        LAWS,
        r"runs\.law\.rivals\.parameters",
    ),
    Left(
        "its p-value and its method say it",
        LAWS,
        r"(shared|runs\.segments)\.same\.(hypothesis|statistic|df1|df2)",
    ),
    Left("the coefficients have their names", LAWS, r"shared\.shared"),
    Left(
        "the wider of the two, `answer`, is shown",
        LAWS,
        r"shared\.spread\.(within|between)\..*",
    ),
    Left(
        "of a segment its coefficients and its verdict are shown; the whole law is in the JSON",
        LAWS,
        r"runs\.segments\.segments\.law\.(?!a\.|b\.|ceiling\.|validity\.(ok|contradicted)|rivals\.(form|ruled_out)$).*",
    ),
    Left(
        "how many values the column has; `columns` shows it", ("fit text", *CSV), r"runs\.\w+_column\.usable"
    ),
    Left(
        "what the catalog says of a column is in Markdown and by `columns`",
        ("fit text", *CSV),
        r"runs\.\w+_column\.(why|meaning\.(estimator|temperature|timing|note))",
    ),
    Left("the evaluations, which the figures draw", (*FIT, *TABLES), r"runs\.law\.(entropy|reward)"),
    Left("what it does to the intervals is shown", ("fit text", *CSV), r"runs\.law\.eval_size"),
    Left(
        "the noise of the entropy is shown as one number, or was given",
        ("fit markdown", "fit csv", *REPORT),
        r"runs\.law\.entropy_sd",
    ),
    Left(
        "in words or numbers on the page and in the JSON; a text for a terminal has twenty lines",
        ("fit text",),
        r"runs\.(law\.(influence\..*|residuals\.long_memory|entropy_spent)|refusal\.hint|read_notes)|warnings",
    ),
    Left(
        "a measure of the law as a curve; the page has it, and weights compare the forms",
        ("fit text", *CSV),
        r"runs\.law\.r_squared",
    ),
    Left(
        "a row of headline numbers for spreadsheets; the JSON has the rest",
        CSV,
        r"runs\.law\.(correlation|entropy_spent|rivals\.(residual_sd|rate\..*))",
    ),
    Left(
        "a row of headline numbers for spreadsheets; the JSON has the rest",
        CSV,
        r"runs\.(findings\.(code|severity)|read_notes|pair|dropped(\.KEY)?|\w+_column\.(column|meaning\.(unit|aggregation|kind))|refusal\.(hint|message)"
        r"|used\.note)|warnings",
    ),
    Left(
        "a row of headline numbers for spreadsheets; the JSON has the rest",
        CSV,
        r"runs\.law\.(entropy_now|entropy_noise|interval|law_ruled_out|influence\..*|residuals\..*"
        r"|ceiling_over_forms\..*|validity\.(contradicted|findings\..*)"
        r"|rivals\.(formula|ruled_out|ceiling\..*))",
    ),
    Left(
        "the rows are the segments, and the columns the coefficients",
        CSV,
        r"(shared|runs\.segments)\.same\.method|runs\.segments\.seams"
        r"|runs\.segments\.segments\.law\.validity\.contradicted",
    ),
    Left(
        "the members have names, weights and what they give together",
        (*PREDICTION, *REPORT),
        r"runs\.forecast\.(run|block|factor|origins|members\.(formula|error))",
    ),
    Left(
        "as in the forecast beside it",
        (*PREDICTION, *REPORT),
        r"runs\.spending\.(run|reward\.note|reward_now\..*)",
    ),
    Left(
        "an interval is shown; its middle is the mean's",
        PREDICTION,
        r"ESTIMATES\.std_error|runs\.predictions\.observation\.value",
    ),
    Left(
        "the code says which values there are",
        (
            "fit text",
            "fit markdown",
            "prediction text",
            "prediction markdown",
            "report markdown",
            "report html",
        ),
        r"runs\.(forecast|(law\.)?validity|segments)\.findings\.values\.KEY",
    ),
    Left(
        "Markdown and the JSON name the method",
        ("prediction text",),
        r"ESTIMATES\.method|runs\.entropies\.method",
    ),
    Left("the estimates name the method", ("prediction markdown",), r"runs\.entropies\.method"),
    Left("the run's last step", ("report csv",), r"runs\.spending\.last_step"),
    Left(
        "a row per target; the JSON has how it was made",
        ("prediction csv",),
        r"runs\.(validity\.(ok|contradicted|findings\..*)|entropy_range|no_forecast|saturation\.share)"
        r"|runs\.forecast\.(n|blind|last_step|level|findings\..*|path_members(\.KEY)?|members\.(name|weight)"
        r"|(reward_now|entropy)\..*)|runs\.spending\.(entropy_now|last_step|share|gains\..*)",
    ),
    Left(
        "a row per run and protocol; Markdown and the JSON have the rest",
        ("backtest csv",),
        r"overall\..*|runs\.(block|n)",
    ),
    Left("the width of the band is shown beside it", BACKTEST[:2], r"runs\.scores\.spread"),
    Left(
        "curves and densities, which the figure draws",
        (*PHASES, "report markdown", "report html"),
        r"runs\.phases\.CURVE\.(boundary\.(places|density)|entropy|decay|fitted|low|high)",
    ),
    Left(
        "the column is named",
        (*PHASES, "report markdown", "report html"),
        r"runs\.(phases\.)?CURVE_column\.(usable|why)",
    ),
    Left("the run's own name is shown", (*PHASES, *REPORT), r"runs\.phases\.run"),
    Left(
        "the message is shown, and the command says the hint",
        ("phases text", "phases csv"),
        r"runs\.refusal\.hint",
    ),
    Left(
        "the stretches of the boundary say it",
        ("phases text", "phases markdown", "report markdown", "report html"),
        r"runs\.phases\.CURVE\.boundary\.(step\.(low|high)|width\.low)",
    ),
    Left(
        "of a segment its coefficients and its verdict are shown; the whole law is in the JSON",
        CSV,
        r"runs\.segments\.(findings\..*|segments\.law\.rivals\.(form|ruled_out))",
    ),
    Left("the curves have titles", ("report csv",), r"runs\.phases\.CURVE\.name"),
    Left(
        "how well a smooth decay fits is in the test's p-value",
        (*PHASES[:2], *REPORT),
        r"runs\.phases\.CURVE\.(lag1|noise)",
    ),
    Left(
        "the interval of the difference, and the order, say it",
        (*PHASES[:2], *REPORT),
        r"runs\.phases\.later",
    ),
    Left(
        "a row per curve; Markdown and the JSON have the rest",
        ("phases csv",),
        r"across\..*|runs\.(length_column|share_column|refusal\.message|phases\.CURVE\.step)",
    ),
    Left(
        "the sentence of the case has it, and the JSON as a number",
        CHECK,
        r"cases\.(value|low|high|level|method|limit|word|sources)|gates|point|even_if_invalid",
    ),
    Left("JUnit counts for itself", ("check junit",), r"failed|runs|strict"),
    Left(
        "the table of the forecast has its steps, rewards and entropies; the page has the rest",
        ("report csv",),
        r"runs\.forecast\.(blind|last_step|level|n|reward_now\..*)",
    ),
    Left(
        "the forecast's members are shown, those of the entropy's path are in the JSON",
        ("report csv",),
        r"runs\.forecast\.path_members(\.KEY)?",
    ),
    Left("of a run without a law: its refusal says so", REPORT, r"runs\.no_forecast"),
    Left(
        "a row of headline numbers for spreadsheets; the JSON has the rest",
        ("report csv",),
        r"runs\.forecast\.(entropy\..*|extrapolated|findings\..*|members\.(name|weight))"
        r"|runs\.spending\.(entropy|entropy_now|share|step\.note)",
    ),
    Left(
        "the verdict on the phases; the page has their table",
        ("report csv",),
        r"runs\.phases\.(CURVE_column\..*|length_column|share_column|level|path|share_planning\..*"
        r"|CURVE\.(boundary\.(places|density|width\..*|step\.(low|high))|p_value|slope_\w+\..*|rise\..*|last\..*"
        r"|settled\..*|detectable|n|step|entropy|decay|fitted|low|high|first_step|last_step))",
    ),
    Left(
        "the verdict on the phases; the page has their table",
        ("report csv",),
        r"runs\.phases\.(delta\..*|CURVE\.(found|kind|boundary\.(intervals|whole|step\.value)))",
    ),
    Left(
        "the run has the same, the figure draws it, or it is for curves without a boundary",
        ("report markdown", "report html"),
        r"runs\.phases\.CURVE\.(n|step|first_step|detectable)",
    ),
    Left("nothing is chosen or lost by it; the JSON has it", COLUMNS, r"texts|unpaired_entropy"),
    Left(
        "a row per column; Markdown and the JSON have the rest",
        ("columns csv",),
        r"dropped(\.KEY)?|entropy\.meaning\.note|notes|other_columns|pair|pair_why|pairs|problem(\..*)?|trainer"
        r"|trainer_why|source\.(format|rows)",
    ),
    Left(
        "a boundary at the edge of the search says 'or before', 'or after'",
        (*PHASES, *REPORT),
        r"runs\.phases\.CURVE\.boundary\.searched",
    ),
    Left("the run's own list has them", PHASES, r"runs\.phases\.dropped(\.KEY)?"),
    Left(
        "a row per curve; Markdown and the JSON have the rest",
        ("phases csv",),
        r"runs\.(findings\..*|notes|dropped(\.KEY)?|phases\.findings\..*)",
    ),
    Left(
        "the verdict on the phases; the page has their table",
        ("report csv",),
        r"runs\.phases\.(findings\..*|notes|dropped(\.KEY)?)",
    ),
    Left(
        "the verdict on the phases; the page has their table",
        ("report csv",),
        r"runs\.phases\.after_fall\..*",
    ),
    Left(
        "the test of the branches says why there is none, and a shape is one number in its formula",
        ("comparison text", "comparison markdown"),
        r"branch_test\.method|forms\.shapes\.(low|high|note)|ESTIMATES\.(method|std_error)",
    ),
    Left(
        "a row per form; text and Markdown have the tests and the ranges",
        ("comparison csv",),
        r"ESTIMATES\.(level|method|std_error)|alike|(law|line|branch)_test\..*|(ceiling|limit)\.(value|low|high)"
        r"|forms\.shapes\.(low|high|note)|rate_tail|reach_note|skipped",
    ),
    Left(
        "the profile's interval says more",
        ("nonlinear text", "nonlinear markdown"),
        r"ESTIMATES\.std_error",
    ),
    Left(
        "a row per parameter; text and Markdown have the rest",
        ("nonlinear csv",),
        r"ESTIMATES\.(level|method|std_error)|drift_share|form|formula|length|message|residual_sd|settled",
    ),
    Left(
        "a row per evaluation; text and Markdown have the covariance",
        ("influences csv",),
        "drift_share|length",
    ),
    Left(
        "two steps side by side in a terminal; CSV and JSON have every column",
        ("tokens text",),
        r"entropy_(p\d\d|sd|se)(_correct|_wrong|_planning|_execution)|entropy_(p05|p10|p20|p90|p95|p99|sd)"
        r"|share_(top20|below_0\.01)_\w+|logprob|prompts|response_length|tokens_(masked|without_entropy)",
    ),
    Left(
        "skipped files are counted on stderr, and named in Markdown and the JSON",
        ("backtest text", "backtest csv", "phases text", "phases csv", "check text", "check junit"),
        "warnings",
    ),
)

SEEDED = (
    "FitDocument",
    "PredictionDocument",
    "BacktestDocument",
    "PhasesDocument",
    "CheckDocument",
    "ReportDocument",
)

NO_EXAMPLE = {
    **{(name, "seed"): "nothing is drawn at random" for name in SEEDED},
    ("LawFit", "dropped"): "reading drops what is missing, before `fit_law` does",
    ("Forecast", "dropped"): "reading drops what is missing, before `forecast` does",
    ("ColumnReport", "cautions"): "no run here has settings that hold the entropy",
    ("ColumnReport", "coefficients"): "no run here logs a coefficient",
    ("ColumnReport", "read_dropped"): "no log here has records that cannot be read",
    ("ReportDocument", "across"): "no command puts the phases of several runs together in a report",
    ("FormResult", "rate"): "its rate is among the shapes",
    ("Comparison", "reach"): "the entropy of the run here is not spent",
    ("Source", "parts"): "no run here is joined from several files",
}
"""Class and field that no result here has a value in → why."""
