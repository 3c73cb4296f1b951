"""AdamW with its state in the host's memory."""

import pytest
import torch
from test_muon import ALONE, give_gradients
from tiny import tiny_config, tiny_file

from trainer.build import build_model
from trainer.config import load_config
from trainer.errors import ConfigError
from trainer.model.latent_operator import LatentPdeOperator, parameter_count
from trainer.optimizer.hybrid import Hybrid, make_optimizer

FUSED, OFFLOADED = "speed.fused_adamw=true", "speed.offload_adamw=true"  # on the host it is fused as well


def trained(folder, *overrides: str, steps: int = 5) -> tuple[LatentPdeOperator, Hybrid]:
    config = tiny_config(folder, *overrides)
    torch.manual_seed(0)
    model = build_model(config)
    optimizer = make_optimizer(model, config.optimizer, config.speed, ALONE)
    for step in range(steps):
        give_gradients(model, step)
        optimizer.set_learning_rate(1e-3 * (step + 1))
        optimizer.step()
    return model, optimizer


def test_offloaded_it_takes_the_same_steps(tmp_path):
    plain, _ = trained(tmp_path, FUSED)
    offloaded, _ = trained(tmp_path, OFFLOADED)
    for name, weight in plain.state_dict().items():
        assert torch.equal(offloaded.state_dict()[name], weight)


def test_it_says_how_many_bytes_the_host_holds(tmp_path):
    model, optimizer = trained(tmp_path, OFFLOADED, steps=1)
    assert optimizer.implementation == f"AdamW offloaded, {2 * 4 * parameter_count(model)} bytes"


def test_its_state_continues_with_and_without_offloading(tmp_path):
    whole, _ = trained(tmp_path, FUSED, steps=5)
    for first, second in ((OFFLOADED, FUSED), (FUSED, OFFLOADED)):
        model, optimizer = trained(tmp_path, first, steps=3)
        continued, other = trained(tmp_path, second, steps=0)
        continued.load_state_dict(model.state_dict())
        other.load_state_dict(optimizer.state_dict())
        for step in (3, 4):
            give_gradients(continued, step)
            other.set_learning_rate(1e-3 * (step + 1))
            other.step()
        for name, weight in whole.state_dict().items():
            assert torch.equal(continued.state_dict()[name], weight)


@pytest.mark.parametrize(
    "overrides",
    [
        ["speed.wrapper=fsdp2", "speed.muon=batched"],
        ["speed.cuda_graph=true", "speed.data_path=resident"],
    ],
)
def test_where_it_cannot_work_it_is_refused(tmp_path, overrides):
    with pytest.raises(ConfigError, match=r"speed\.offload_adamw: got true, expected false"):
        load_config(tiny_file(tmp_path), [OFFLOADED, *overrides])


def test_fused_adamw_beside_it_is_refused(tmp_path):
    with pytest.raises(
        ConfigError, match=r"speed\.fused_adamw: got true, expected false: speed\.offload_adamw"
    ):
        load_config(tiny_file(tmp_path), [OFFLOADED, FUSED])
