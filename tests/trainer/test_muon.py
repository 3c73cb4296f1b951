"""Muon in its forms, against torch's own step by step."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
import torch
from forked import in_ranks
from tiny import tiny_config

from trainer.build import build_model
from trainer.config.schema import Config, ModelConfig, OptimizerConfig
from trainer.model.latent_operator import LatentPdeOperator
from trainer.optimizer.hybrid import make_optimizer
from trainer.optimizer.matrices import hidden_matrices
from trainer.optimizer.muon_batched import BatchedMuon
from trainer.optimizer.muon_loop import LoopMuon
from trainer.optimizer.newton_schulz import orthogonalised
from trainer.process.world import World

ALONE = World(rank=0, size=1, device=torch.device("cpu"))
BFLOAT16_STEPS = {"rtol": 0, "atol": 2e-4}  # ten updates of about 1e-3 each, whose directions have 8 bits


def a_model(folder) -> LatentPdeOperator:
    torch.manual_seed(0)
    return build_model(tiny_config(folder))


def give_gradients(model: torch.nn.Module, step: int) -> None:
    random = torch.Generator().manual_seed(step)
    for parameter in model.parameters():
        parameter.grad = torch.randn(parameter.shape, generator=random)


def trained_by(kind, folder, steps: int = 10) -> tuple[LatentPdeOperator, object]:
    model = a_model(folder)
    muon = kind(hidden_matrices(model), OptimizerConfig())
    for step in range(steps):
        give_gradients(model, step)
        muon.set_learning_rate(1e-3 * (step + 1) / steps)
        muon.step()
    return model, muon


def test_it_takes_what_lies_between_first_and_last_layers_and_splits_packed_ones(tmp_path):
    with torch.device("meta"):
        model = build_model(tiny_config(tmp_path, "data.tasks=[advection1d, darcy2d]"))
    matrices = hidden_matrices(model)
    names = [matrix.name for matrix in matrices]
    of_block = [name for name in names if "operator.blocks.0." in name]
    assert len(of_block) == 3 + 1 + 2  # queries, keys and values; out; both of the MLP
    of_layer = [name for name in names if "decoder.layers.0." in name]
    assert len(of_layer) == 1 + 2 + 1 + 2  # queries; keys and values; out; both of the feed-forward
    taken = {matrix.parameter for matrix in matrices}
    left = {name for name, p in model.named_parameters() if p.ndim == 2 and p not in taken}
    assert left == {
        *(f"encoder.stems.{task}.embed.weight" for task in ("advection1d", "darcy2d")),
        "operator.embed_condition.0.weight",
        *(f"decoder.place.embed.{dimensions}.weight" for dimensions in (1, 2)),
        *(f"decoder.heads.{head}.weight" for head in ("advection1d", "darcy2d", "darcy2d_given")),
        *(f"operator.blocks.{n}.modulation.weight" for n in range(2)),
    }


def test_what_is_not_trained_is_not_taken():
    with torch.device("meta"):
        model = build_model(Config(model=ModelConfig(trained="operator")))
    inside = {
        matrix.name.removesuffix("[0]") for matrix in hidden_matrices(model) if "blocks" not in matrix.name
    }
    assert inside == {f"operator.{name}.weight" for name in ("embed_condition.2", "embed", "project")}
    assert sum("blocks" in matrix.name for matrix in hidden_matrices(model)) == 6 * 12


def test_layers_of_other_names_are_not_taken_for_inner_ones(tmp_path):
    model = a_model(tmp_path)
    with pytest.raises(LookupError, match=r"no parameter encoder\.stems\.\*"):
        hidden_matrices(torch.nn.ModuleDict({"model": model}))
    model.decoder.outputs = model.decoder._modules.pop("heads")
    with pytest.raises(LookupError, match=r"no parameter decoder\.heads\.\*"):
        hidden_matrices(model)


def test_the_matrices_of_the_full_model_have_few_shapes():
    with torch.device("meta"):
        model = build_model(Config())
    shapes = Counter(matrix.shape for matrix in hidden_matrices(model))
    blocks, layers = 12, 3
    assert shapes == {
        (384, 384): 4 * blocks + 6 * layers + 1,
        (1536, 384): blocks,
        (384, 1536): blocks,
        (384, 128): 2,
        (128, 384): 2,
        (128, 128): 1,
    }


def test_the_loop_is_torchs_own_on_the_separate_matrices(tmp_path):
    model, _ = trained_by(LoopMuon, tmp_path)
    reference = a_model(tmp_path)
    matrices = hidden_matrices(reference)
    separate = [torch.nn.Parameter(matrix.of(matrix.parameter.detach()).clone()) for matrix in matrices]
    own = torch.optim.Muon(separate, weight_decay=0.03, momentum=0.95, adjust_lr_fn="match_rms_adamw")
    for step in range(10):
        give_gradients(reference, step)
        for parameter, matrix in zip(separate, matrices, strict=True):
            parameter.grad = matrix.of(matrix.parameter.grad).clone()
        own.param_groups[0]["lr"] = 1e-3 * (step + 1) / 10
        own.step()
    for parameter, matrix in zip(separate, hidden_matrices(model), strict=True):
        assert torch.equal(matrix.of(matrix.parameter), parameter), matrix.name


def test_the_batched_form_takes_the_same_steps_as_the_loop(tmp_path):
    (loop, loop_muon), (batched, batched_muon) = (
        trained_by(kind, tmp_path) for kind in (LoopMuon, BatchedMuon)
    )
    untrained = [matrix.parameter for matrix in hidden_matrices(a_model(tmp_path))]
    assert not any(map(torch.equal, untrained, [matrix.parameter for matrix in hidden_matrices(loop)]))
    torch.testing.assert_close(batched.state_dict(), loop.state_dict(), **BFLOAT16_STEPS)
    torch.testing.assert_close(batched_muon.state(), loop_muon.state())


def test_the_batched_form_goes_as_far_as_the_loop(tmp_path):
    start = hidden_matrices(a_model(tmp_path))
    loop, batched = (
        hidden_matrices(trained_by(kind, tmp_path, steps=1)[0]) for kind in (LoopMuon, BatchedMuon)
    )
    for before, one, other in zip(start, loop, batched, strict=True):
        lengths = [(after.of(after.parameter) - before.of(before.parameter)).norm() for after in (one, other)]
        assert lengths[1].item() == pytest.approx(lengths[0].item(), rel=0.01), before.name


def test_the_state_of_one_form_continues_in_the_other(tmp_path):
    model, muon = trained_by(LoopMuon, tmp_path)
    copy = a_model(tmp_path)
    copy.load_state_dict(model.state_dict())
    heir = BatchedMuon(hidden_matrices(copy), OptimizerConfig())
    heir.load_state(muon.state())
    for trained, one in ((model, muon), (copy, heir)):
        give_gradients(trained, 99)
        one.set_learning_rate(1e-3)
        one.step()
    torch.testing.assert_close(copy.state_dict(), model.state_dict(), **BFLOAT16_STEPS)
    muon.load_state(heir.state())
    torch.testing.assert_close(muon.state(), heir.state(), rtol=0, atol=0)


@pytest.mark.slow
def test_ranks_that_share_the_matrices_take_the_same_step(tmp_path):
    """Of two shapes there are 15 matrices and one, which four ranks cannot share out evenly."""
    ranks = 4
    in_ranks(_step_in_a_rank, ranks, tmp_path)
    alone, _ = trained_by(BatchedMuon, tmp_path, steps=1)
    for rank in range(ranks):
        weights = torch.load(tmp_path / f"rank-{rank}.pt", weights_only=True)
        torch.testing.assert_close(weights, dict(alone.state_dict()), rtol=0, atol=1e-6)


def _step_in_a_rank(folder: Path) -> None:
    torch.distributed.init_process_group("gloo")
    rank, ranks = torch.distributed.get_rank(), torch.distributed.get_world_size()
    own = folder / str(rank)  # for the config that a_model writes
    own.mkdir()
    model, _ = trained_by(partial(BatchedMuon, rank=rank, ranks=ranks), own, steps=1)
    torch.save(dict(model.state_dict()), folder / f"rank-{rank}.pt")
    torch.distributed.destroy_process_group()


def test_a_learning_rate_in_a_tensor_is_read_where_it_lies(tmp_path):
    model = a_model(tmp_path)
    muon = BatchedMuon(hidden_matrices(model), OptimizerConfig())
    rate = torch.tensor(0.0)
    muon.set_learning_rate(rate)
    before = {name: weight.clone() for name, weight in model.state_dict().items()}
    give_gradients(model, 0)
    muon.step()
    assert all(torch.equal(weight, before[name]) for name, weight in model.state_dict().items())
    rate.fill_(1e-2)
    muon.step()
    assert not torch.equal(model.operator.blocks[0].mlp[0].weight, before["operator.blocks.0.mlp.0.weight"])


@pytest.mark.parametrize("size", [1e-4, 1.0])  # of the gradients
@pytest.mark.parametrize("shape", [(3, 8, 24), (2, 16, 16)])
def test_singular_values_come_near_one(shape, size):
    random = torch.Generator().manual_seed(0)
    values = torch.linalg.svdvals(orthogonalised(size * torch.randn(shape, generator=random)).float())
    assert values.min() > 0.3
    assert values.max() < 1.3


def test_every_parameter_is_updated_once(tmp_path):
    for kind in ("loop", "batched"):
        config = tiny_config(tmp_path, "optimizer.matrices=muon", f"speed.muon={kind}")
        model = a_model(tmp_path)
        optimizer = make_optimizer(model, config.optimizer, config.speed, ALONE)
        before = [parameter.detach().clone() for parameter in model.parameters()]
        give_gradients(model, 0)
        assert optimizer.step() is False
        assert not any(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
        # Of the packed ones each matrix has a state of its own: two of three matrices, and one of two.
        assert len(optimizer.state_dict()) == len(before) + 2 * 2 + 1
