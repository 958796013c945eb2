"""What TRL prints: written by hand as tqdm writes it, damaged, and real logs where they are at hand."""

SUMMARY = "{'train_runtime': 9.5, 'train_samples_per_second': 1.7, 'train_loss': 0.01, 'epoch': 0.5}"


def entry(step, /, **more):
    values = {"loss": 0.0, "reward": 0.1 * step, "rewards/f/mean": 0.3, "entropy": 0.5 / step}
    return str({**values, **more, "epoch": round(step / 100, 4)})


def evaluation(step, **more):
    return str({"eval_loss": 0.1, "eval_reward": 0.2 * step, **more, "epoch": round(step / 100, 4)})


def bar(step, total=20, name=""):
    return f"\r{name}{100 * step // total:3d}%|██▌       | {step}/{total} [00:19<11:24,  3.51s/it]"


def wiped(step, total=20):
    return "\r" + " " * (len(bar(step, total)) - 1) + "\r"


def evaluating(step, total=20):
    """The bar of an evaluation is drawn, and wiped, below the trainer's."""
    below = f"\n{bar(0, 8)}\x1b[A\n{bar(8, 8)}\x1b[A"
    wiping = wiped(step, total) + "\n\r" + " " * 40 + "\r\x1b[A"
    after = bar(step, total) + f"\n{bar(8, 8)}\x1b[A\n\r" + " " * 40 + "\x1b[A"
    return below + wiping, after


def terminal(every=5, total=20, last=None, evaluations=()):
    """The log of a run whose entries and bar come in the order in which they were printed."""
    text = "loading\n" + bar(4, 4, name="Loading checkpoint shards: ") + "\n" + bar(0, total)
    for step in range(1, (last or total) + 1):
        text += bar(step, total)
        if step % every == 0:
            text += wiped(step, total) + entry(step) + "\n" + bar(step, total)
        if step in evaluations:
            before, after = evaluating(step, total)
            text += before + evaluation(step) + "\n" + after
    return text


def buffered(text, at_once):
    """The same, when the entries wait in a buffer until there are several, as they do in a file."""
    parts, waiting = [], []
    for part in text.replace("{", "\0{").replace("}\n", "}\n\0").split("\0"):
        if part.startswith("{"):
            waiting.append(part)
            part = "".join(waiting) if len(waiting) == at_once else ""
            waiting = [] if part else waiting
        parts.append(part)
    return "".join(parts), "".join(waiting)


def lines(entries):
    return "".join(f"{one}\n" for one in entries)


APART = lines(entry(5 * n) for n in range(1, 5)) + "".join(bar(n) for n in range(21))


def of_value(written):
    return f"{{'loss': 0.0, 'reward': {written}, 'epoch': 0.01}}\n"


def prefixed(prefix):
    coloured = entry(2).replace("'reward'", "\x1b[32m'reward'\x1b[0m")
    return f"{prefix}{entry(1)}\n{prefix}{coloured}\x1b[0m\r\n"


def swift(form):
    bar_of = "Train:   1%|▏         | 5/438 [00:01<01:00,  6.00it/s]"
    for s in (5, 10, 15):
        yield (
            f"{bar_of}{{'loss': 0.1, 'reward': {s / 10}, 'entropy/mean': {1 / s}, 'epoch': {s / 100}, "
            f"'global_step/max_steps': {form.format(s)}}}"
        )


BUFFERED = {n: buffered(terminal(evaluations=(5, 15)), n) for n in (2, 3, 4)}
KILLED = buffered(terminal(every=1), 3)[0]
ENTRIES = [entry(n) for n in (1, 2, 3)]
OTHERS = ["Updated tokens: {'bos_token_id': None, 'pad_token_id': 151643}.", "{'a': 1", "{}", "{'b'}"]
BEHIND = "".join(f"{bar(n)}{wiped(n)}\n{bar(n)}{entry(n)}\n" for n in (5, 10, 15, 20)).replace("\r", "\n")
# tqdm draws ten times a second at most, and always behind an entry.
LAGS = terminal().replace(bar(10) + wiped(10), wiped(8)).replace(bar(9), "")
NUMBERS = ("0.0012", "'0.0012'", "-1.5e-07", "3", "nan", "'nan'", "None", "inf", "-inf", "np.float64(0.25)")
NO_NUMBERS = ("'[String too long to display, length: 999 > 100]'", "True", "[1, 2]")
BROKEN = (
    *("{'loss': 0.0, 'rew", "{'loss': 0.0, 'reward': 0.", "{'loss'", "{'loss': 0.0, 'gr" + entry(3)),
    "{'loss': 0.0, 'reward': __import__('os'), 'epoch': 0.03}",
    "{'loss': 0.0, 'reward': {'a': 1}, 'epoch': 0.03}",
    "{'loss': 0.0, 'reward': " + "1" * 1_000_000 + ", 'epoch': 0.03}",
    "{'loss': 0.0, " + "{" * 10_000,
)
PREFIXES = (
    "(TaskRunner pid=1) ",
    "\x1b[36m(main_task pid=7)\x1b[0m ",
    "2026-04-04 19:53:32,742 [INFO] ",
    "INFO:",
    "",
)
TEXTS = {
    "from end to end": terminal() + wiped(20) + SUMMARY + "\n" + bar(20) + "\n",
    **{f"entries that come {n} at once": "".join(parts) for n, parts in BUFFERED.items()},
    "killed with entries in the buffer": KILLED,
    "killed and resumed with more steps": KILLED + "\nTraceback\n" + terminal(every=2, total=30),
    "started again": terminal(last=12) + "\nTraceback\n" + terminal(),
    "a message before the bar is wiped": terminal().replace(
        wiped(10), "\nSaving model checkpoint\n" + wiped(10)
    ),
    "a bar that lags behind": LAGS,
    "entries behind the bar": "".join(
        f"(TaskRunner pid=1) {bar(n)[1:]}{entry(n)}\n" for n in (5, 10, 15, 20)
    ),
    "entries behind a bar that was drawn again": BEHIND,
    "line feeds": terminal().replace("\r", "\n"),
    "line ends of Windows": terminal(evaluations=(10,)).replace("\n", "\r\n"),
    "no carriage returns": terminal().replace("\r", ""),
    "blank lines in an answer": terminal().replace(
        bar(7), bar(7) + "\ndef f():\n            \n    return 1\n"
    ),
    "a bar without a name before the trainer's": bar(3, 7) + wiped(3) + terminal(),
    "a message printed as entries are": terminal().replace(
        bar(7), bar(7) + wiped(7) + "a message\n" + bar(7)
    ),
    "standard output and standard error one after the other": APART,
    "and the bar unfinished": APART.replace(bar(20), ""),
    "no bar": lines([evaluation(0), entry(7), entry(14), evaluation(14), entry(21)]),
    "the count goes back with the epoch": lines(entry(n) for n in (1, 2, 3, 4, 3, 4, 5, 1, 2)),
    "a step in the entry": lines(
        entry(n, global_step=n).replace("global_step", "step") for n in (10, 20, 30)
    ),
    "numbers": "".join(map(of_value, (*NUMBERS, "tensor(0.25, device='cuda:0')", "1" + "0" * 399))),
    **{f"no number: {written}": of_value(written) for written in NO_NUMBERS},
    **{f"prefix {prefix!r}": prefixed(prefix) for prefix in PREFIXES},
    **{f"broken {text[:40]}": lines([entry(1), entry(2), text, entry(4)]) for text in BROKEN},
    "other dicts": lines([*OTHERS, entry(1), "reward {'f': 0.5}", entry(2)]),
    "a history printed at the end": lines([*ENTRIES, f"[{', '.join(ENTRIES)}]"]),
    **{
        f"no entries {text[:40]!r}": text
        for text in ("", "nothing", SUMMARY, "{'loss': 0.1, 'reward'", "{'loss': 0.1}")
    },
    "no entries in bytes": b"\xff\x00{'",
    "ms-swift's step": "\n".join(swift("'{}/438'")),
    "and one that no Python prints": "\n".join(swift("{}/438")),
}
SAMPLES = {title: ("trl", "x.log", text) for title, text in TEXTS.items()}
