"""What FSDP2 keeps in parts is put together and taken apart as torch's own, with fewer calls."""

from pathlib import Path

import pytest
import torch
from forked import in_ranks
from torch import distributed, nn

from trainer.sharding import all_whole, clip_norm, part_of, whole

pytestmark = pytest.mark.slow

RANKS = 3
# Rows that three ranks share out evenly, unevenly, with none for the last or for the last two.
SHAPES = [(6, 2), (7, 3, 2), (4,), (1, 5), (2, 2)]


def test_one_gather_brings_all_parts_together_and_every_rank_takes_its_own_again(tmp_path):
    in_ranks(_in_a_rank, RANKS, tmp_path)
    assert sorted(path.name for path in tmp_path.glob("done-*")) == [f"done-{rank}" for rank in range(RANKS)]


def _in_a_rank(folder: Path) -> None:
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    distributed.init_process_group("gloo")
    torch.manual_seed(0)
    values = [torch.randn(shape) for shape in SHAPES]
    module = nn.ParameterList([nn.Parameter(value.clone()) for value in values])
    fully_shard(module, mesh=init_device_mesh("cpu", (RANKS,)))
    parameters = list(module)
    plain = torch.randn(3)  # of a tensor that is on every rank nothing is sent
    with torch.no_grad():
        *found, same = all_whole([*parameters, plain])
        assert same is plain
        for value, parameter, one in zip(values, parameters, found, strict=True):
            assert torch.equal(one, value)
            assert torch.equal(one, whole(parameter))
            assert torch.equal(part_of(one, parameter), parameter.to_local())
    for limit in (1.0, 1e3):  # below the norm and above it
        plain = [nn.Parameter(value.clone()) for value in values]
        for one, parameter, value in zip(plain, parameters, values, strict=True):
            one.grad, parameter.grad = value.clone(), parameter.detach().clone()
        torch.testing.assert_close(clip_norm(parameters, limit), nn.utils.clip_grad_norm_(plain, limit))
        for one, parameter in zip(plain, parameters, strict=True):
            torch.testing.assert_close(whole(parameter.grad), one.grad)
    (folder / f"done-{distributed.get_rank()}").touch()
    distributed.destroy_process_group()
