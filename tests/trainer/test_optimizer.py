"""Learning rate, AdamW and the average of the weights, against what a textbook says."""

import pytest
import torch
from test_muon import give_gradients
from tiny import tiny_config

from trainer.build import build_model, build_rates
from trainer.config.schema import OptimizerConfig
from trainer.model.latent_operator import parameter_count
from trainer.optimizer.adamw import AdamW
from trainer.optimizer.ema import make_ema
from trainer.optimizer.hybrid import make_optimizer
from trainer.process.world import World

CPU = torch.device("cpu")


def adamw_of(model: torch.nn.Module, config: OptimizerConfig, *, fused: bool, device: str = "cpu") -> AdamW:
    return AdamW(dict(model.named_parameters()), config, fused=fused, device=torch.device(device))


def test_the_learning_rate_warms_up_and_falls_along_a_cosine(tmp_path):
    config = tiny_config(tmp_path, "optimizer.warmup_updates=4", "train.updates=20")
    rates = [build_rates(config).rate(step) for step in range(1, 21)]
    assert rates[:4] == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3])
    assert rates[11] == pytest.approx(1e-3 * (0.01 + 0.99 / 2))
    assert rates[19] == pytest.approx(1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("form", "device"), [("fused", "cpu"), ("foreach", "cuda"), ("for-loop", "cpu")])
def test_adamw_takes_the_very_steps_of_torchs_class(tmp_path, form, device):
    config = tiny_config(tmp_path)
    model, other = build_model(config), build_model(config)
    other.load_state_dict(model.state_dict())
    fused = form == "fused"
    optimizer = adamw_of(model, config.optimizer, fused=fused, device=device)
    assert optimizer.implementation == f"AdamW {form}"
    torchs = torch.optim.AdamW(
        [
            {"params": [p for p in other.parameters() if p.ndim >= 2]},
            {"params": [p for p in other.parameters() if p.ndim < 2], "weight_decay": 0.0},
        ],
        lr=config.optimizer.learning_rate,
        weight_decay=config.optimizer.weight_decay,
        betas=(0.9, 0.95),
        fused=fused,
        foreach=form == "foreach",
    )
    for step in range(4):
        for trained in (model, other):
            give_gradients(trained, step)
            if step == 0:
                next(trained.parameters()).grad = None
        if step > 1:
            optimizer.set_learning_rate(1e-3 * step)
            optimizer.set_weight_decay(0.1 * step)
            for group in torchs.param_groups:
                group["lr"] = 1e-3 * step
            torchs.param_groups[0]["weight_decay"] = 0.1 * step
        optimizer.step()
        torchs.step()
        kept = {name: torchs.state[p] for name, p in other.named_parameters()}
        torch.testing.assert_close(optimizer.state(), kept, rtol=0, atol=0)
    torch.testing.assert_close(model.state_dict(), other.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize("fused", [False, True])
def test_adamw_takes_the_textbook_step(tmp_path, fused):
    config = tiny_config(tmp_path).optimizer
    layer = torch.nn.Linear(3, 3)
    expected = layer.weight.detach().clone()
    optimizer = adamw_of(layer, config, fused=fused)
    mean = square = 0.0
    for step, gradient in enumerate((0.5, -2.0, 1.0), start=1):
        layer.weight.grad = torch.full((3, 3), gradient)
        layer.bias.grad = torch.zeros(3)
        optimizer.step()
        mean, square = 0.9 * mean + 0.1 * gradient, 0.95 * square + 0.05 * gradient**2
        direction = mean / (1 - 0.9**step) / (square / (1 - 0.95**step)) ** 0.5
        expected = expected * (1 - config.learning_rate * config.weight_decay)
        expected -= config.learning_rate * direction
    torch.testing.assert_close(layer.weight.detach(), expected)
    assert optimizer.implementation == ("AdamW fused" if fused else "AdamW for-loop")


@pytest.mark.parametrize(
    "kind",
    [
        ["optimizer.matrices=adamw"],
        ["optimizer.matrices=adamw", "speed.offload_adamw=true"],
        ["optimizer.matrices=muon", "speed.muon=loop"],
        ["optimizer.matrices=muon", "speed.muon=batched"],
    ],
)
def test_learning_rate_and_weight_decay_reach_every_parameter_that_they_are_for(tmp_path, kind):
    config = tiny_config(tmp_path, *kind)
    model = build_model(config)
    with torch.no_grad():
        torch.nn.utils.vector_to_parameters(torch.full((parameter_count(model),), 2.0), model.parameters())
    optimizer = make_optimizer(model, config.optimizer, config.speed, World(rank=0, size=1, device=CPU))

    def stepped(rate: float, gradient: float) -> dict[str, torch.Tensor]:
        for parameter in model.parameters():
            parameter.grad = torch.full_like(parameter, gradient)
        optimizer.set_learning_rate(rate)
        optimizer.set_weight_decay(0.5)
        optimizer.step()
        return {name: parameter.detach().clone() for name, parameter in model.named_parameters()}

    decayed = stepped(0.5, 0.0)
    for weight in decayed.values():
        torch.testing.assert_close(weight, torch.full_like(weight, 1.5 if weight.ndim > 1 else 2.0))
    stayed = stepped(0.0, 1.0)
    assert all(torch.equal(weight, decayed[name]) for name, weight in stayed.items())


@pytest.mark.parametrize("foreach", [False, True])
def test_the_average_weighs_by_age_and_forgets_the_start(foreach):
    layer = torch.nn.Linear(2, 1)
    ema = make_ema(layer, 0.9, foreach=foreach)
    seen = []
    for _ in range(3):
        with torch.no_grad():
            layer.weight += torch.rand_like(layer.weight)
        ema.update()
        seen.append(layer.weight.detach().clone())
    expected = (0.81 * seen[0] + 0.9 * seen[1] + seen[2]) / (0.81 + 0.9 + 1)
    torch.testing.assert_close(ema.weights()["weight"], expected)
    again = make_ema(layer, 0.9, foreach=foreach)
    again.load_state_dict(ema.state_dict())
    torch.testing.assert_close(again.weights(), ema.weights(), rtol=0, atol=0)


@pytest.mark.parametrize("foreach", [False, True])
def test_a_slow_average_of_weights_that_stay_is_these_weights(foreach):
    layer = torch.nn.Linear(3, 3)
    ema = make_ema(layer, 0.99999, foreach=foreach)
    for _ in range(100):
        ema.update()
    torch.testing.assert_close(ema.weights()["weight"], layer.weight.detach(), rtol=1e-5, atol=0)
