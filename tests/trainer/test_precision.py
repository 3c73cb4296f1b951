"""fp16 and bf16: what is computed in them, and one decision to skip an update that overflowed."""

from contextlib import contextmanager

import pytest
import torch
from tiny import events, tiny_config, train_losses
from torch._subclasses import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.model.attention import HeadNorm
from trainer.optimizer.ema import MISSING
from trainer.optimizer.scaled_step import ScaledStep
from trainer.process.world import World
from trainer.run.checkpoint.files import read_checkpoint
from trainer.run.step.learner import Learner
from trainer.run.training import Progress, run_training

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
PRODUCTS = {torch.ops.aten.mm.default, torch.ops.aten.addmm.default, torch.ops.aten.bmm.default}


class ProductDtypes(TorchDispatchMode):
    """Collects the dtypes of every matrix product while it is open."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: set[torch.dtype] = set()

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        out = function(*arguments, **(named or {}))
        if function in PRODUCTS:
            self.seen.add(out.dtype)
        return out


@contextmanager
def gpu_autocast(dtype: torch.dtype):
    """Autocast of a GPU, which torch.autocast refuses where there is none."""
    before = torch.get_autocast_dtype("cuda")
    torch.set_autocast_enabled("cuda", dtype != torch.float32)
    torch.set_autocast_dtype("cuda", dtype)
    try:
        yield
    finally:
        torch.set_autocast_enabled("cuda", False)
        torch.set_autocast_dtype("cuda", before)


def a_learner(config) -> tuple[Learner, object]:
    data = open_data(config)
    share = Share(data.train.schedule(config.train.pairs_per_update, 0), 0, 1, 1)
    return Learner(config, 0, ALONE), open_feed(data.train, share, 5, config.speed, ALONE.device)


@pytest.mark.parametrize(
    ("precision", "dtype"), [("fp32", torch.float32), ("fp16", torch.float16), ("bf16", torch.bfloat16)]
)
def test_every_product_of_forward_and_backward_has_the_asked_format(tmp_path, precision, dtype):
    learner, feed = a_learner(
        tiny_config(tmp_path, f"speed.precision={precision}", "optimizer.clip_norm=null")
    )
    with ProductDtypes() as products:
        record = learner.update(1, feed)
    assert products.seen == {dtype}
    assert record.loss.dtype == torch.float32
    assert {parameter.dtype for parameter in learner.model.parameters()} == {torch.float32}


class Calls(TorchDispatchMode):
    """Collects what is called while it is open, with the formats of its tensors."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple] = []

    def __torch_dispatch__(self, function, types, arguments=(), named=None):
        if function is not torch.ops.prim.device.default:
            tensors = [one for one in arguments if isinstance(one, torch.Tensor)]
            self.seen.append((function, *(one.dtype for one in tensors)))
        return function(*arguments, **(named or {}))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_norms_of_queries_and_keys_are_one_kernel_of_a_gpu(dtype):
    aten = torch.ops.aten
    with FakeTensorMode():
        norm = HeadNorm(8, eps=1e-6, device="cuda")
        rows = torch.empty(3, 4, 8, device="cuda", dtype=dtype)
        with torch.no_grad(), gpu_autocast(dtype), Calls() as calls:
            assert norm(rows).dtype == dtype
    rounding = [] if dtype == torch.float32 else [(aten._to_copy.default, torch.float32)]
    assert calls.seen == [*rounding, (aten._fused_rms_norm.default, dtype, dtype)]


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_norms_of_queries_and_keys_are_off_by_the_rounding_of_their_format(dtype):
    torch.manual_seed(0)
    norm, exact = HeadNorm(8, eps=1e-6), torch.nn.RMSNorm(8, eps=1e-6).double()
    with torch.no_grad():
        norm.weight.uniform_(0.5, 1.5)
        exact.weight.copy_(norm.weight)
    rows, gradient = torch.randn(2, 3, 4, 8, dtype=dtype)
    rows *= 0.003  # where eps counts
    results = []
    for one, x in ((norm, rows.clone()), (exact, rows.double())):
        x.requires_grad_()
        with torch.autocast("cpu", dtype=dtype):
            out = one(x)
        out.backward(gradient.to(out.dtype))
        results.append([part.double() for part in (out, x.grad, one.weight.grad)])
    bound = 4 * torch.finfo(dtype).eps
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=bound, atol=bound * float(theirs.abs().max()))


@pytest.mark.parametrize("where", ["operator.blocks.0.mlp.0.weight", "encoder.project.bias"])
def test_an_overflow_in_either_optimizers_part_skips_both(tmp_path, where):
    config = tiny_config(tmp_path, "speed.precision=fp16", "optimizer.matrices=muon", "speed.muon=batched")
    learner, _ = a_learner(config)
    before = [parameter.detach().clone() for parameter in learner.model.parameters()]
    for name, parameter in learner.model.named_parameters():
        parameter.grad = torch.full_like(parameter, float("inf") if name == where else 1.0)
    learner.scaled_step.scaled(torch.zeros(()))  # the scale exists from the first loss on
    scale = learner.scaled_step.scaler.get_scale()
    learner.scaled_step.unscale_gradients()
    learner.scaled_step.step()
    assert learner.scaled_step.skipped is True
    assert all(map(torch.equal, before, learner.model.parameters()))
    assert learner.scaled_step.skipped_updates == 1
    assert learner.scaled_step.scaler.get_scale() == scale / 2
    resumed, _ = a_learner(config)
    resumed.load_state_dict(learner.state_dict())
    assert resumed.scaled_step.state_dict() == learner.scaled_step.state_dict()
    resumed.scaled_step.scaled(torch.zeros(()))
    assert resumed.scaled_step.scaler.get_scale() == scale / 2


@pytest.mark.slow
def test_an_overflow_at_the_start_is_skipped_reported_and_survived(tmp_path, monkeypatch):
    class TooBold(ScaledStep):
        def __init__(self, *arguments) -> None:
            super().__init__(*arguments)
            self.scaler = torch.amp.GradScaler("cpu", init_scale=2.0**40)

    monkeypatch.setattr("trainer.run.step.learner.ScaledStep", TooBold)
    config = tiny_config(tmp_path, "speed.precision=fp16", "train.updates=40", "train.window_updates=40")
    run_training(config, tmp_path, 0, Progress())
    (window,), (end,) = events(tmp_path, "steps"), events(tmp_path, "run_end")
    skipped = window["skipped_updates"]
    assert 0 < skipped < 40
    assert [norm is None for norm in window["gradient_norm"]] == [True] * skipped + [False] * (40 - skipped)
    assert (end["attempted_updates"], end["skipped_updates"]) == (40, skipped)
    assert train_losses(tmp_path)[-1] < train_losses(tmp_path)[0]
    missing = read_checkpoint(tmp_path / "checkpoint.pt")["ema"][MISSING].item()
    assert missing == pytest.approx(config.optimizer.ema_decay ** (40 - skipped))


def test_without_fp16_nothing_is_scaled_or_skipped(tmp_path):
    learner, _ = a_learner(tiny_config(tmp_path))
    for parameter in learner.model.parameters():
        parameter.grad = torch.ones_like(parameter)
    assert learner.scaled_step.scaled(torch.ones(())).item() == 1
    learner.scaled_step.step()
    assert learner.scaled_step.skipped is False
