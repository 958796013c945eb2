"""The callback in TRL's own trainer: a tiny model with random weights, on the CPU (``nox -s trl``)."""

import math

import pytest

import entropylaw

torch = pytest.importorskip("torch", reason="torch is not installed")
trl = pytest.importorskip("trl", reason="trl is not installed")
datasets = pytest.importorskip("datasets", reason="datasets is not installed")
tokenizers = pytest.importorskip("tokenizers")
transformers = pytest.importorskip("transformers")

WORDS = ["<pad>", "<eos>", "<unk>", *"0123456789", "+", "=", "say"]


def model_and_tokenizer():
    """A model of two small layers from its config, and a tokenizer of single words."""
    torch.manual_seed(0)
    words = tokenizers.models.WordLevel({word: number for number, word in enumerate(WORDS)}, "<unk>")
    made = tokenizers.Tokenizer(words)
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer = transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    )
    config = transformers.Qwen2Config(
        vocab_size=len(WORDS),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        pad_token_id=0,
        eos_token_id=1,
    )
    return transformers.Qwen2ForCausalLM(config), tokenizer


def train(folder, callback, reward, resume=None, trainers=None):
    """30 steps of GRPO, and the trainer, which is also put into a list before it begins."""
    model, tokenizer = model_and_tokenizer()
    options = trl.GRPOConfig(
        output_dir=str(folder),
        max_steps=30,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=6,
        learning_rate=1e-2,
        logging_steps=1,
        save_steps=15,
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    prompts = datasets.Dataset.from_dict({"prompt": ["say 1 + 2 =", "say 3 + 4 ="] * 8})
    trainer = trl.GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        reward_funcs=reward,
        args=options,
        train_dataset=prompts,
        callbacks=[callback],
    )
    if trainers is not None:
        trainers.append(trainer)
    trainer.train(resume_from_checkpoint=resume)
    return trainer


def sevens(completions, **_):
    """The share of sevens in what the model says."""
    return [text.split().count("7") / 6 for text in completions]


def test_lines_are_in_the_log_of_a_run_that_goes_on_and_after_it_is_resumed(tmp_path):
    said = []
    train(tmp_path, entropylaw.EntropyLawCallback(say=said.append, cost_per_step=0.5), sevens)
    assert len(said) >= 20, said
    forecasts = [line for line in said if "P(+" in line]
    assert " · step 8 · reward" in forecasts[0], forecasts[0]
    assert all(line.startswith("entropylaw: ") and " · step " in line for line in said)
    assert "by step 30" in forecasts[-1]
    again = []
    checkpoint = tmp_path / "checkpoint-15"
    train(tmp_path, entropylaw.EntropyLawCallback(say=again.append), sevens, resume=str(checkpoint))
    assert " · step 16 · reward" in again[0], again[0]
    assert "P(+" in again[0]


def test_a_run_is_stopped_only_where_that_was_asked_for(tmp_path):
    calls = iter(range(10_000))

    def lost(completions, **_):
        return [1.0 - 0.01 * (next(calls) % 2) if next(calls) < 120 else 0.0 for _ in completions]

    asked = train(tmp_path, entropylaw.EntropyLawCallback(stop_on="broken", say=lambda _: None), lost)
    assert 8 < asked.state.global_step < 30
    calls = iter(range(10_000))
    callback = entropylaw.EntropyLawCallback(say=lambda _: None)
    free = train(tmp_path, callback, lost)
    assert free.state.global_step == 30
    assert [line.says for line in callback.watcher.lines] == ["broken"]


def test_an_odd_log_raises_nothing(tmp_path):
    said = []
    callback = entropylaw.EntropyLawCallback(stop_on=("stop", "broken", "exploded"), say=said.append)
    odd = {"reward": math.nan, "entropy": "none", "list": [1], "reward_std": -math.inf, "step": "x"}

    def reward(completions, **_):
        trainers[0].state.log_history.append(odd)
        return sevens(completions)

    trainers = []
    trainer = train(tmp_path, callback, reward, trainers=trainers)
    assert trainer.state.global_step == 30
    assert not [line for line in said if "Error" in line], said
