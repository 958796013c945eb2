"""The fields of results that a medium leaves out, each with the reason, for ``test_every_field``."""

from __future__ import annotations

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

NOT_SHOWN: dict[tuple[str, ...], dict[str, str]] = {
    (*FIT, *PREDICTION, *BACKTEST, *PHASES, *CHECK, *TABLES): {
        "where a result comes from: the JSON has it, and a report's page": (
            r"(inputs|config)\..*|version|schema"
        ),
    },
    COLUMNS: {
        "the file is named by its path": r"source\.sha256",
        "no choice depends on it; the JSON has it": r"other_columns|texts|unpaired_entropy",
    },
    (*FIT, *PHASES, *TABLES): {
        "an option: what came of it is shown": r"settings\..*",
    },
    tuple(
        medium
        for medium in (*LAWS, *PHASES)
        if medium not in ("report markdown", "report html", "phases text", "phases markdown")
    ): {
        "the level is above the table": r"ESTIMATES\.level",
    },
    (*LAWS, *COLUMNS): {
        "the catalog's own words: `why` says which key it is, a note that a sign was undone": (
            r"(runs\.)?(entropy|reward)(_column)?\.meaning\.(role|trainer|sign)"
        ),
    },
    LAWS: {
        "a standard error says less than the interval": r"ESTIMATES\.std_error",
        "where the first evaluations are off the curve, or no curve fits, a caution says so": (
            r"runs\.answer\.p_(first|no_curve)"
        ),
        "the level shifts at them are shown": r"runs\.answer\.law\.shifts",
        "the noise that the smoothing removes is shown": r"runs\.answer\.law\.smoothing_error",
        "the run's own name is shown": r"runs\.answer\.(law\.)?run",
        "the law's reward at each evaluation, which the figure of the residuals draws": (
            r"runs\.answer\.law\.fitted"
        ),
        "the averaged reward now is shown": r"runs\.answer\.law\.reward_now\..*",
        "a fact about the form, in its formula": r"runs\.answer\.forms\.parameters",
        "why a lost reward has none, which stands beside the averaged ceiling": (
            r"runs\.answer\.forms\.(ceiling|headroom)\.note"
        ),
        "of a shape the value is shown": r"runs\.answer\.forms\.shapes\.(low|high)",
    },
    ("fit text", "fit markdown", "report markdown", "report html"): {
        "of the training reward the verdict and the two answers are shown; the JSON has the rest": (
            r"runs\.training\.(?!answer\.((ceiling|headroom|reward_now)\.|verdict|why|gain|p_headroom"
            r"|forms\.form$|law\.(entropy_now|max_reward|n$|smoothed_entropy))|reward_column\.column).*"
        ),
    },
    (*FIT, "report csv"): {
        "the answers are shown": r"runs\.summary",
    },
    (*FIT, *TABLES): {
        "the evaluations, which the figures draw": r"runs\.answer\.law\.(entropy|reward)",
    },
    CSV: {
        "how many values the column has; `columns` shows it": r"runs\.\w+_column\.usable",
        "what the catalog says of a column is in Markdown and by `columns`": (
            r"runs\.\w+_column\.(why|meaning\.(estimator|temperature|timing|note))"
        ),
        "a row of headline numbers for spreadsheets; the JSON has the rest": (
            r"runs\.answer\.(findings\.(?!code).*|if_(short|long)\..*|without_term\..*|p_(term|first|no_curve)|forms\.(ceiling|headroom|shapes)\..*|forms\.(formula|residual_sd)"
            r"|law\.(correlation|entropy_noise|entropy_now|entropy_sd|eval_size|influence\..*"
            r"|max_reward|residuals\.(drift_share|lag1|p_thirds|sd)|smoothed_entropy)|skipped|tests\..*"
            r"|used\.note)|runs\.drop_per_100_steps\.note"
            r"|runs\.(findings\.(code|severity)|read_notes|pair|dropped(\.KEY)?|\w+_column\.(column"
            r"|meaning\.(unit|aggregation|kind))|refusal\.(hint|message))|warnings"
        ),
        "a row has the reward that was chosen": r"runs\.training\..*",
        "the column `lost` says why they are unknown": r"runs\.answer\.(law\.)?(ceiling|headroom)\.note",
    },
    (*PREDICTION, *REPORT): {
        "the members have names, weights and what they give together": (
            r"runs\.forecast\.(run|block|origins|members\.(formula|error))"
        ),
        "as in the forecast": r"runs\.spending\.(run|reward\.note|reward_now\..*)",
        "the entropy that it gives is shown": r"runs\.spending\.share",
    },
    PREDICTION: {
        "an interval is shown; its middle is the mean's": (
            r"ESTIMATES\.std_error|runs\.predictions\.observation\.value"
        ),
    },
    (
        "fit text",
        "fit markdown",
        "prediction text",
        "prediction markdown",
        "report markdown",
        "report html",
    ): {
        "the code says which values there are": (r"runs\.((forecast|answer)\.)?findings\.values\.KEY"),
    },
    ("prediction text", "prediction markdown"): {
        "how far the path is followed is said in words": r"runs\.spending\.step\.note",
    },
    ("prediction text",): {
        "Markdown and the JSON name the method": r"ESTIMATES\.method|runs\.entropies\.method",
    },
    ("prediction markdown",): {
        "the estimates name the method": r"runs\.entropies\.method",
    },
    ("report csv",): {
        "the run's last step": r"runs\.spending\.last_step",
        "of a run without a law: its refusal says so": r"runs\.no_forecast",
        "the curves have titles": r"runs\.phases\.CURVE\.name",
        "the table of the forecast has its steps, rewards and entropies; the page has the rest": (
            r"runs\.forecast\.(blind|last_step|level|n|own|reward_now\..*)"
        ),
        "the forecast's members are shown, those of the entropy's path are in the JSON": (
            r"runs\.forecast\.path_members(\.KEY)?"
        ),
        "a row of headline numbers for spreadsheets; the JSON has the rest": (
            r"runs\.forecast\.(entropy\..*|extrapolated|findings\..*|members\.(name|weight))"
            r"|runs\.spending\.(entropy|entropy_now|share|step\.note|reward\.(value|low|high))"
        ),
        "the verdict on the phases; the page has their table": (
            r"runs\.phases\.(CURVE_column\..*|length_column|share_column|level|path|share_planning\..*"
            r"|CURVE\.(rises|p_\w+|falls_again|second_fall(\.\d)?|long_drift|turning_point\..*|rise\..*|last\..*"
            r"|settled\..*|detectable|n|step|entropy|fitted|low|high|first_step|last_step)|delta\..*"
            r"|after_fall\..*|findings\..*|notes|dropped(\.KEY)?)"
        ),
    },
    ("prediction csv",): {
        "a row per target; the JSON has how it was made": (
            r"runs\.(verdict|why|gain|p_headroom|findings\..*|entropy_range|no_forecast)|runs\.forecast\.(n|blind|last_step|level|own|findings\..*"
            r"|path_members(\.KEY)?|members\.(name|weight)|(reward_now|entropy)\..*)"
            r"|runs\.spending\.(entropy_now|last_step|share|gains\..*)"
        ),
    },
    ("backtest csv",): {
        "a row per run and protocol; Markdown and the JSON have the rest": r"overall\..*|runs\.(block|n)",
    },
    BACKTEST[:2]: {
        "the width of the interval is shown": r"runs\.scores\.spread",
        "the sentence on what errs least names it": r"overall\.best",
        "their ratio over all runs is shown": r"runs\.scores\.(noise|interval_score|last_value_score)",
    },
    (*PHASES, "report markdown", "report html"): {
        "curves, which the figure draws": r"runs\.phases\.CURVE\.(entropy|fitted|low|high)",
        "the column is named": r"runs\.(phases\.)?CURVE_column\.(usable|why)",
    },
    (*PHASES, *REPORT): {
        "the run's own name is shown": r"runs\.phases\.run",
    },
    ("phases text", "phases csv"): {
        "the message is shown, and the command says the hint": r"runs\.refusal\.hint",
    },
    ("phases text",): {
        "each run is described above; --details has the table": r"across\.each\..*",
    },
    (*PHASES[:2], *REPORT): {
        "how well the curve fits is in the test's p-values": r"runs\.phases\.CURVE\.(lag1|noise)",
        "the interval of the difference, and the order, say it": r"runs\.phases\.later",
    },
    ("phases csv",): {
        "the method of the test is shown; the JSON has those of the intervals": r"ESTIMATES\.method",
        "a row per curve; Markdown and the JSON have the rest": (
            r"across\..*|runs\.(length_column|share_column|refusal\.message|phases\.CURVE\.step)"
            r"|runs\.(findings\..*|notes|dropped(\.KEY)?|phases\.findings\..*)"
        ),
    },
    CHECK: {
        "the sentence of the case has it, and the JSON as a number": (
            r"cases\.(value|low|high|level|method|limit|word|sources)|gates|point|even_if_fails"
        ),
    },
    ("check junit",): {
        "JUnit counts for itself": r"failed|runs|strict",
    },
    ("report markdown", "report html"): {
        "the run has the same, the figure draws it, or it is for curves without a turn": (
            r"runs\.phases\.CURVE\.(n|step|first_step|detectable)"
        ),
    },
    ("columns csv",): {
        "a row per column; Markdown and the JSON have the rest": (
            r"dropped(\.KEY)?|entropy\.meaning\.note|notes|pair|pair_why|pairs"
            r"|problem(\..*)?|trainer|trainer_why|source\.(format|rows)"
        ),
    },
    PHASES: {
        "the run's own list has them": r"runs\.phases\.dropped(\.KEY)?",
    },
    ("comparison text", "comparison markdown"): {
        "the test of the branches says why there is none, and a shape is one number in its formula": (
            r"branch_test\.method|forms\.shapes\.(low|high|note)|ESTIMATES\.(method|std_error)"
        ),
    },
    ("comparison csv",): {
        "a row per form; text and Markdown have the tests and the ranges": (
            r"ESTIMATES\.(level|method|std_error)|alike|(law|line|branch)_test\..*|(ceiling"
            r"|limit)\.(value|low|high)|forms\.shapes\.(low|high|note)|rate_tail|reach_note|skipped"
        ),
    },
    ("arms details", "arms markdown", "arms csv"): {
        "curves, which the figure draws": r"arms\.(mean|low|high|runs\.(entropy|reward))|pairs\.band\.mean",
    },
    ("arms details", "arms markdown"): {
        "the level is in the head": r"ESTIMATES\.level",
    },
    ("arms csv",): {
        "a row per comparison and quantity; text and Markdown have the rest": (
            r"baseline|level|margin|arms\.(arm|entropy|failure_rate\..*|runs\.(run|n|last_step|failed|values.*))"
            r"|pairs\.(seeds|band\.(entropy|low|high)|split\.(at_entropy|total\..*)|findings\..*)"
            r"|(stages|transfers|findings)\..*"
        ),
    },
    ("tokens text",): {
        "two steps side by side in a terminal; CSV and JSON have every column": (
            r"entropy_(p\d\d|sd|se)(_correct|_wrong|_planning|_execution)|entropy_(p05|p10|p20|p90|p95"
            r"|p99|sd)|share_(top20|below_0\.01)_\w+|logprob|prompts|response_length|tokens_(masked"
            r"|without_entropy)"
        ),
    },
    ("backtest text", "backtest csv", "phases text", "phases csv", "check text", "check junit"): {
        "skipped files are counted on stderr, and named in Markdown and the JSON": r"warnings",
    },
}
"""Results and media → why they leave out fields → a regular expression of the fields."""

NO_EXAMPLE = {
    ("Fit", "skipped"): "the evaluations of every run here determine all forms",
    ("LawFit", "dropped"): "reading drops what is missing, before `fit_law` does",
    ("Forecast", "dropped"): "reading drops what is missing, before `forecast` does",
    ("ColumnReport", "cautions"): "no run here has settings that hold the entropy",
    ("ColumnReport", "coefficients"): "no run here logs a coefficient",
    ("ColumnReport", "read_dropped"): "no log here has records that cannot be read",
    ("ReportDocument", "across"): "the index and a page of its own have the phases of several runs",
    ("Source", "parts"): "no run here is joined from several files",
}
"""Class and field that no result here has a value in → why."""
