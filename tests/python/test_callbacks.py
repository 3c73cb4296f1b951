"""The callbacks, with small stand-ins for the libraries, whose own tests have the real ones."""

from pathlib import Path

import pytest
from recorded import events_of, reason_of, run_recorded, step_counts

pytestmark = pytest.mark.slow

LOADER = """
import torch
torch.manual_seed(1)
class Data(torch.utils.data.Dataset):
    def __init__(self, count=20): self.count = count
    def __len__(self): return self.count
    def __getitem__(self, index): return {"x": torch.full((2,), float(index))}
def loader(count=20): return torch.utils.data.DataLoader(Data(count), batch_size=8)
"""

TRAINER = """
from types import SimpleNamespace
import torch
{defaults}
class Trainer:
    def __init__(self, model, data, eval_dataset):
        self.model, self.data, self.eval_dataset = model, data, eval_dataset
        self.callback_handler = [kind() for kind in globals().get("DEFAULT_CALLBACKS", [])]
    def call(self, name, **more):
        args = SimpleNamespace(seed=11, device=torch.device("cpu"))
        for callback in self.callback_handler:
            getattr(callback, name)(args, SimpleNamespace(max_steps=9), None, model=self.model, **more)
    def train(self):
        o = torch.optim.SGD(self.model.parameters(), 0.001)
        self.call("on_train_begin", optimizer=o, train_dataloader=self.data)
        for epoch in range(3):
            for batch in self.data:
                self.model(batch["x"]).sum().backward(); o.step(); o.zero_grad()
                self.call("on_step_end")
            self.evaluate()
            self.call("on_save")
        self.call("on_train_end")
    def get_eval_dataloader(self, eval_dataset=None):
        return torch.utils.data.DataLoader(eval_dataset or self.eval_dataset, batch_size=8)
    def evaluate(self):
        for batch in self.get_eval_dataloader(): pass
        self.call("on_evaluate", metrics={{"eval_loss": 0.5, "eval_f1": 0.25, "epoch": 1.0}})
"""
HF_SCRIPT = f"""
{LOADER}
from transformers.trainer import Trainer
trainer = Trainer(torch.nn.Linear(2, 1), loader(), Data(8))
trainer.train()
trainer.evaluate()
"""

LIGHTNING = """
import torch
from importlib.metadata import entry_points
class Callback: pass
class Trainer:
    sanity_checking, global_step, world_size = False, 0, 1
    def __init__(self):
        found = entry_points(group="lightning.pytorch.callbacks_factory")
        self.callbacks = [callback for point in found for callback in point.load()()]
    def call(self, name, *more):
        for callback in self.callbacks:
            getattr(callback, name)(self, self.model, *more)
    def save_checkpoint(self, path): pass
    def fit(self, model, loader, val_loader):
        self.model, self.train_dataloader, self.val_dataloaders = model, loader, val_loader
        model.device = torch.device("cpu")
        self.optimizers = [torch.optim.SGD(model.parameters(), 0.001)]
        self.callback_metrics = {"val_loss": torch.tensor(0.5), "val_f1": torch.tensor(0.25)}
        self.call("on_train_start")
        for epoch in range(3):
            for index, batch in enumerate(loader):
                loss = model(batch["x"]).sum() / 3
                loss.backward()
                if index == 2:
                    self.optimizers[0].step(); self.optimizers[0].zero_grad(); self.global_step += 1
                self.call("on_train_batch_end", {"loss": torch.tensor(0.5)}, batch, index)
            batches = iter(val_loader); next(batches)
            self.call("on_validation_start"); list(batches); self.call("on_validation_end")
            self.save_checkpoint("x")
        self.call("on_train_end")
"""


def stand_in_for_transformers(folder: Path, defaults: str) -> None:
    package = folder / "transformers"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '3.0'\nclass TrainerCallback: pass")
    (package / "trainer.py").write_text(TRAINER.format(defaults=defaults))


def test_trainer_is_recorded_unchanged(tmp_path: Path) -> None:
    stand_in_for_transformers(tmp_path, "DEFAULT_CALLBACKS = []")
    (tmp_path / "script.py").write_text(HF_SCRIPT)
    run_recorded(tmp_path, "script.py")
    events = events_of(tmp_path / "out")
    assert step_counts(events) == (9, 0)
    assert events[0]["seed"] == 11
    assert "steps_include" not in events[0]
    samples = [count for event in events if event["event"] == "steps" for count in event["samples"]]
    assert samples == [8, 8, 4] * 3
    evaluations = [event for event in events if event["event"] == "evaluation"]
    assert [(e["step"], e["samples_seen"], e["val_loss"]) for e in evaluations] == [
        (3, 20, 0.5),
        (6, 40, 0.5),
        (9, 60, 0.5),
        (9, 60, 0.5),
    ]
    assert evaluations[0]["metrics"]["f1"] == 0.25
    assert [event["evaluation_samples"] for event in evaluations] == [8] * 4
    assert len({event["data_hash"] for event in evaluations}) == 1
    assert [event["step"] for event in events if event["event"] == "phase"] == [3, 6, 9]


@pytest.mark.parametrize("place", ["before", "after"])
def test_callback_of_the_script_stands_beside_the_one_put_in(tmp_path: Path, place: str) -> None:
    stand_in_for_transformers(tmp_path, "DEFAULT_CALLBACKS = []")
    own = "trainer.callback_handler.insert({}, Callback())".format(0 if place == "before" else 1)
    script = HF_SCRIPT.replace(
        "trainer.train()", f"from speedproof.huggingface import Callback\n{own}\ntrainer.train()"
    )
    (tmp_path / "script.py").write_text(script)
    run_recorded(tmp_path, "script.py")
    assert step_counts(events_of(tmp_path / "out")) == (9, 0)


def test_metrics_may_have_any_name(tmp_path: Path) -> None:
    stand_in_for_transformers(tmp_path, "DEFAULT_CALLBACKS = []")
    trainer = tmp_path / "transformers" / "trainer.py"
    trainer.write_text(trainer.read_text().replace('"eval_f1"', '"eval_val_loss": 1.0, "eval_held_out"'))
    (tmp_path / "script.py").write_text(HF_SCRIPT)
    run_recorded(tmp_path, "script.py")
    evaluation = next(e for e in events_of(tmp_path / "out") if e["event"] == "evaluation")
    assert (evaluation["val_loss"], evaluation["metrics"]["held_out"]) == (0.5, 0.25)


def test_transformers_without_default_callbacks_is_refused_by_name(tmp_path: Path) -> None:
    stand_in_for_transformers(tmp_path, "")
    (tmp_path / "script.py").write_text(HF_SCRIPT)
    run_recorded(tmp_path, "script.py")
    assert "transformers 3.0 has no trainer.DEFAULT_CALLBACKS" in reason_of(events_of(tmp_path / "out"))


def test_second_training_of_a_process_is_refused(tmp_path: Path) -> None:
    stand_in_for_transformers(tmp_path, "DEFAULT_CALLBACKS = []")
    (tmp_path / "script.py").write_text(f"{HF_SCRIPT}\nTrainer(trainer.model, loader(), Data()).train()")
    run_recorded(tmp_path, "script.py")
    assert "second training" in reason_of(events_of(tmp_path / "out"))


def stand_in_for_lightning(folder: Path) -> None:
    package = folder / "lightning"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "pytorch.py").write_text(LIGHTNING)
    (folder / "script.py").write_text(
        f"{LOADER}\nfrom lightning.pytorch import Trainer\n"
        "Trainer().fit(torch.nn.Linear(2, 1), loader(), loader(12))"
    )


def test_lightning_is_recorded_unchanged(tmp_path: Path) -> None:
    stand_in_for_lightning(tmp_path)
    run_recorded(tmp_path, "script.py")
    events = events_of(tmp_path / "out")
    assert step_counts(events) == (3, 0)
    steps = [event for event in events if event["event"] == "steps"]
    assert [count for event in steps for count in event["samples"]] == [20, 20, 20]
    assert [loss for event in steps for loss in event["train_loss"]] == [1.5, 1.5, 1.5]
    evaluations = [event for event in events if event["event"] == "evaluation"]
    assert [(e["step"], e["val_loss"], e["metrics"]) for e in evaluations] == [
        (step, 0.5, {"val_f1": 0.25}) for step in (1, 2, 3)
    ]
    assert [event["step"] for event in events if event["event"] == "phase"] == [1, 2, 3]
    assert [event["evaluation_samples"] for event in evaluations] == [12] * 3
    assert len({event["data_hash"] for event in evaluations}) == 1


def test_lightning_that_trains_alone_in_each_process_is_refused(tmp_path: Path) -> None:
    stand_in_for_lightning(tmp_path)
    run_recorded(tmp_path, "script.py", env={"RANK": "0", "WORLD_SIZE": "2"})
    assert "2 processes were started" in reason_of(events_of(tmp_path / "out"))
