"""Trainings whose steps are measured twice: by a way in, and by the Recorder in the same run.

    python3 -m benchmarks.recorder.trained all --out FOLDER --device cuda
    node benchmarks/recorder/accuracy.ts FOLDER

The Recorder counts a step at every optimizer step, by a hook of the optimizer itself, without evaluations.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmarks.harness.in_words import refused_in_words
from trainer.errors import ConfigError

PYTHON = Path(__file__).resolve().parents[2] / "python"
WIDTH, DEPTH, BATCH, EVALUATE_EVERY = 512, 12, 64, 40


def say(text: str) -> None:
    if os.environ.get("RANK", "0") == "0":
        sys.stdout.write(f"{text}\n")


class Truth:
    def __init__(self, model: nn.Module, optimizer: torch.optim.Optimizer, device: torch.device) -> None:
        from speedproof import Recorder  # on the path of what run_all starts

        self.recorder = Recorder(os.environ["TRUTH"]).start(model=model, optimizer=optimizer, device=device)
        self._hook = optimizer.register_step_post_hook(lambda *_: self.recorder.step(BATCH))

    def between(self, work: Any) -> Any:
        self.recorder.pause()
        value = work()
        self.recorder.evaluate(0.0)
        return value


def network() -> nn.Module:
    torch.manual_seed(1)
    layers = [layer for _ in range(DEPTH) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU())]
    return nn.Sequential(*layers, nn.Linear(WIDTH, 1))


def samples(count: int) -> torch.utils.data.TensorDataset:
    inputs = torch.randn(count, WIDTH, generator=torch.Generator().manual_seed(1))
    return torch.utils.data.TensorDataset(inputs, inputs.sum(1, keepdim=True))


def plain(steps: int, device: torch.device) -> None:
    """A loop that prints what it does, as many do, with its own time of a step."""
    model = network().to(device)
    if "LOCAL_RANK" in os.environ:
        torch.distributed.init_process_group()
        model = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    held_out = samples(4 * BATCH).tensors
    truth = Truth(model, optimizer, device)

    def evaluate() -> None:
        with torch.no_grad():
            loss = nn.functional.mse_loss(model(held_out[0].to(device)), held_out[1].to(device))
        say(f"step {step}: val loss {loss.item():.6f}")

    batches = torch.utils.data.DataLoader(samples(steps * BATCH), batch_size=BATCH)
    started = time.perf_counter()
    for step, (inputs, wanted) in enumerate(batches, 1):
        loss = nn.functional.mse_loss(model(inputs.to(device)), wanted.to(device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        say(f"iter {step}: loss {loss.item():.6f}, time {1000 * (time.perf_counter() - started):.4f}ms")
        if step % EVALUATE_EVERY == 0:
            truth.between(evaluate)
        started = time.perf_counter()
    truth.recorder.close()


def hugging_face(steps: int, device: torch.device) -> None:
    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = network()

        def forward(self, inputs: torch.Tensor, labels: torch.Tensor) -> dict[str, torch.Tensor]:
            outputs = self.network(inputs)
            return {"loss": nn.functional.mse_loss(outputs, labels), "logits": outputs}

    def named(count: int) -> list[dict[str, torch.Tensor]]:
        return [{"inputs": inputs, "labels": wanted} for inputs, wanted in samples(count)]

    train_by_hugging_face(Network(), named, BATCH, steps, device)


def gpt2(steps: int, device: torch.device) -> None:
    """124 million parameters in bf16, for a GPU."""
    from transformers import GPT2Config, GPT2LMHeadModel

    def texts(count: int) -> list[dict[str, torch.Tensor]]:
        tokens = torch.randint(256, (count, 1024), generator=torch.Generator().manual_seed(1))
        return [{"input_ids": text, "labels": text} for text in tokens]

    train_by_hugging_face(GPT2LMHeadModel(GPT2Config(use_cache=False)), texts, 16, steps, device, bf16=True)


def train_by_hugging_face(
    model: nn.Module,
    examples: Callable[[int], list[dict[str, torch.Tensor]]],
    batch: int,
    steps: int,
    device: torch.device,
    **more: Any,
) -> None:
    from transformers import Trainer, TrainerCallback, TrainingArguments

    class Measured(Trainer):
        truth: Truth

        def evaluate(self, *args: Any, **kwargs: Any) -> dict[str, float]:
            return self.truth.between(lambda: super(Measured, self).evaluate(*args, **kwargs))

    class BeginTruth(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            optimizer = kwargs["optimizer"]
            trainer.truth = Truth(kwargs["model"], getattr(optimizer, "optimizer", optimizer), args.device)

        def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            trainer.truth.recorder.close()

    out = os.environ["OUT"]
    os.environ["TENSORBOARD_LOGGING_DIR"] = out
    arguments = TrainingArguments(
        output_dir=out,
        max_steps=steps,
        per_device_train_batch_size=batch,
        per_device_eval_batch_size=batch,
        eval_strategy="steps",
        eval_steps=EVALUATE_EVERY,
        logging_steps=10,
        save_strategy="no",
        report_to=["tensorboard"],
        use_cpu=device.type == "cpu",
        disable_tqdm=True,
        **more,
    )
    trainer = Measured(
        model=model,
        args=arguments,
        train_dataset=examples(64 * batch),
        eval_dataset=examples(4 * batch),
        callbacks=[BeginTruth()],
    )
    trainer.train()


def lightning(steps: int, device: torch.device) -> None:
    pytorch = import_module("lightning.pytorch")

    class Module(pytorch.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.network = network()

        def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
            return nn.functional.mse_loss(self.network(batch[0]), batch[1])

        def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
            self.log("val_loss", self.training_step(batch, index), sync_dist=True)

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.AdamW(self.parameters(), lr=1e-3)

        def on_train_start(self) -> None:
            optimizer = self.optimizers()
            self.truth = Truth(self, getattr(optimizer, "optimizer", optimizer), self.device)

        def on_train_end(self) -> None:
            self.truth.recorder.close()

    processes = int(os.environ.get("WORLD_SIZE", "1"))
    trainer = pytorch.Trainer(
        accelerator="cpu" if device.type == "cpu" else "gpu",
        devices=processes,
        max_steps=steps,
        default_root_dir=os.environ["OUT"],
        enable_progress_bar=False,
        enable_checkpointing=False,
        logger=False,
        val_check_interval=EVALUATE_EVERY,
    )
    module = Module()
    validate = trainer.fit_loop.epoch_loop.val_loop.run
    trainer.fit_loop.epoch_loop.val_loop.run = lambda: (
        validate() if trainer.sanity_checking else module.truth.between(validate)
    )
    loader = torch.utils.data.DataLoader
    trainer.fit(
        module,
        loader(samples(steps * BATCH * processes), batch_size=BATCH),
        loader(samples(4 * BATCH), batch_size=BATCH),
    )


KINDS = {"plain": plain, "hugging-face": hugging_face, "lightning": lightning}
ON_GPU = {"gpt2": gpt2}


def cost(updates: int, device: torch.device) -> None:
    """Print the microseconds that a step of the Recorder takes of a loop that does nothing else."""
    from speedproof import Recorder

    model = network().to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros((), device=device)
    with Recorder(Path(os.environ["OUT"])) as recorder:
        recorder.start(model=model, optimizer=optimizer)
        started = time.perf_counter()
        for _ in range(updates):
            recorder.step(BATCH, loss)
        say(f"{1e6 * (time.perf_counter() - started) / updates}")


def run_all(options: argparse.Namespace) -> None:
    """Each kind in processes of its own, and what it prints beside what it records."""
    counts = sorted({1, options.processes})
    kinds = [*KINDS, *(ON_GPU if options.device == "cuda" else [])]
    for kind, processes in [(kind, count) for count in counts for kind in kinds] + [("cost", 1)]:
        folder = options.out.resolve() / f"{kind}-{processes}"
        for name in ("trainer", "truth", "out", "source"):
            try:
                (folder / name).mkdir(parents=True)
            except FileExistsError:
                raise ConfigError(f"--out: {folder} exists. Name a new folder") from None
        is_recorded = kind != "cost"
        path = [str(PYTHON / "speedproof" / "site")] if is_recorded else []
        launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
        steps = options.steps if is_recorded else 20_000
        words = ["-m", "benchmarks.recorder.trained", kind, f"--device={options.device}", f"--steps={steps}"]
        done = subprocess.run(
            [sys.executable, *(launcher if processes > 1 else []), *words],
            env={
                "OMP_NUM_THREADS": "1",
                **os.environ,
                "PYTHONPATH": os.pathsep.join([*path, str(PYTHON), str(PYTHON.parent)]),
                "TRUTH": str(folder / "truth"),
                "OUT": str(folder / "out"),
                **({"SPEEDPROOF_RECORD": str(folder / "trainer")} if is_recorded else {}),
            },
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        for name in ("log.txt", "source/printed.txt"):
            (folder / name).write_text(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=[*KINDS, *ON_GPU, "cost", "all"])
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--device", choices=["cpu", "cuda"], required=True)
    parser.add_argument("--out", type=Path, help="a new folder, for all")
    parser.add_argument("--processes", type=int, default=1, help="of a second run of each kind, for all")
    options = parser.parse_args()
    device = torch.device(options.device)
    if options.kind == "all":
        if options.out is None:
            parser.error("--out: a new folder is needed for all")
        run_all(options)
        return
    if options.kind == "cost":
        cost(options.steps, device)
    else:
        {**KINDS, **ON_GPU}[options.kind](options.steps, device)
    # On two processes a usual exit crashes now and then, by a thread of torch's.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    with refused_in_words():
        main()
