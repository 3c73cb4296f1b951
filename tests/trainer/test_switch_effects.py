"""What single switches do behind their read-back: operations launched, threads used, batches read ahead."""

import threading
from collections import Counter

import pytest
import torch
from test_muon import ALONE, give_gradients
from test_precision import a_learner
from tiny import tiny_config
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.data import DataLoader

from trainer.build import build_model
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.optimizer.ema import make_ema
from trainer.optimizer.hybrid import make_optimizer
from trainer.run.checkpoint.files import CheckpointWriter
from trainer.switches.process.process_switches import ProcessSwitches

HOST_READ = "_local_scalar_dense"  # what .item() and .tolist() call


class Operations(TorchDispatchMode):
    """Counts the operations that are called while it is open, by name."""

    def __init__(self) -> None:
        super().__init__()
        self.count: Counter[str] = Counter()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        self.count[function.overloadpacket.__name__] += 1
        return function(*arguments, **(named or {}))


def test_foreach_averages_all_weights_in_one_operation(tmp_path):
    model = build_model(tiny_config(tmp_path))
    counts = {}
    for foreach in (False, True):
        ema = make_ema(model, 0.9, foreach=foreach)
        with Operations() as operations:
            ema.update()
        counts[foreach] = (operations.count["lerp_"], operations.count["_foreach_lerp_"])
    assert counts == {False: (len(list(model.parameters())), 0), True: (0, 1)}


def test_fused_adamw_steps_in_one_operation_for_each_group(tmp_path):
    model = build_model(tiny_config(tmp_path))
    counts = {}
    for fused in ("false", "true"):
        config = tiny_config(tmp_path, f"speed.fused_adamw={fused}")
        optimizer = make_optimizer(model, config.optimizer, config.speed, ALONE)
        give_gradients(model, 0)
        with Operations() as operations:
            optimizer.step()
        counts[fused] = operations.count["_fused_adamw_"]
    assert counts == {"false": 0, "true": 2}


@pytest.mark.parametrize(
    ("muon", "expected", "products"),
    [("loop", "Muon loop", 24), ("batched", "Muon batched", 4), ("sharded", "Muon batched over 2 ranks", 4)],
)
def test_muon_reads_back_its_form_and_batches_equal_shapes(tmp_path, muon, expected, products):
    config = tiny_config(tmp_path, "optimizer.matrices=muon", f"speed.muon={muon}")
    model = build_model(config)
    ranks = 2 if muon == "sharded" else 1
    world = type(ALONE)(rank=0, size=ranks, device=ALONE.device)
    optimizer = make_optimizer(model, config.optimizer, config.speed, world)
    assert optimizer.implementation.endswith(expected)
    if muon != "sharded":
        give_gradients(model, 0)
        with Operations() as operations:
            optimizer.step()
        orthogonalised = operations.count["mm"] + operations.count["bmm"]
        assert orthogonalised == 5 * products  # one Gram matrix in each of five iterations


def test_an_update_reads_no_number_from_the_device(tmp_path):
    learner, feed = a_learner(
        tiny_config(
            tmp_path,
            "speed.precision=bf16",
            "speed.data_path=resident",
            "speed.fused_adamw=true",
            "optimizer.matrices=muon",
            "speed.muon=batched",
        )
    )
    with Operations() as operations:
        learner.update(1, feed)
    assert operations.count[HOST_READ] == 0


@pytest.mark.parametrize(("asked", "reads"), [("window", 0), ("update", 2)])
def test_losses_are_read_after_every_update_where_asked(tmp_path, asked, reads):
    config = tiny_config(tmp_path, f"speed.metric_reads={asked}", "optimizer.clip_norm=1.0")
    learner, feed = a_learner(config)
    switches = ProcessSwitches(config.speed, 7, tmp_path, ALONE)
    record = learner.update(1, feed)
    with Operations() as operations:
        switches.read(record.loss, record.gradient_norm)
    switches.close()
    assert switches.effective()["metric_reads"] == asked
    assert operations.count[HOST_READ] == reads


def test_batches_are_read_ahead_as_far_as_asked(tmp_path):
    config = tiny_config(tmp_path, "speed.loader_workers=2", "speed.loader_prefetch=3")
    train = open_data(config).train
    feed = open_feed(train, Share(train.schedule(16, 0), 0, 1, 1), 7, config.speed, ALONE.device)
    try:
        assert feed.effective()["loader_prefetch"] == 3
        assert feed.batches._tasks_outstanding == 6  # asked of two workers before the first is taken
    finally:
        feed.close()


def test_pages_that_could_not_be_pinned_read_back_as_not_pinned(tmp_path):
    config = tiny_config(tmp_path, "speed.loader_pinned=true")
    train = open_data(config).train
    feed = open_feed(train, Share(train.schedule(16, 0), 0, 1, 1), 7, config.speed, ALONE.device)
    assert feed.effective()["loader_pinned"] is False


@pytest.mark.parametrize(
    ("asked", "device", "pinned"), [(True, "cuda", True), (False, "cuda", False), (True, "cpu", False)]
)
def test_pages_are_pinned_where_they_are_asked_for_and_a_gpu_reads_them(
    tmp_path, monkeypatch, asked, device, pinned
):
    noted = {}

    class NotingLoader(DataLoader):
        def __init__(self, *arguments: object, **options: object) -> None:
            noted.update(options)
            super().__init__(*arguments, **{**options, "pin_memory": False})  # there is no GPU

    monkeypatch.setattr("trainer.data.batches.feed.DataLoader", NotingLoader)
    config = tiny_config(tmp_path, f"speed.loader_pinned={str(asked).lower()}")
    train = open_data(config).train
    open_feed(train, Share(train.schedule(16, 0), 0, 1, 1), 7, config.speed, torch.device(device)).close()
    assert noted["pin_memory"] is pinned


def test_an_asynchronous_checkpoint_lets_the_training_go_on_and_keeps_its_moment(tmp_path, monkeypatch):
    save, may_write = torch.save, threading.Event()

    def slow(*arguments: object) -> None:
        assert may_write.wait(60)
        save(*arguments)

    monkeypatch.setattr(torch, "save", slow)
    weight = torch.zeros(3)
    writer = CheckpointWriter(tmp_path, asynchronous=True)
    writer.write({"weight": weight}, best=False)
    assert not (tmp_path / "checkpoint.pt").exists()
    weight += 1  # as the next step does
    may_write.set()
    writer.close()
    assert torch.load(tmp_path / "checkpoint.pt")["weight"].tolist() == [0, 0, 0]
    assert writer.effective() == {"checkpoints": "asynchronous"}
    assert writer.by_thread == 1
