"""The model, its losses and its optimizer."""

import pytest
import torch
from tiny import tiny_config

from trainer.data.batch import Batch
from trainer.losses.choices import StepChoices
from trainer.losses.objective import Objective
from trainer.losses.terms import latent_loss, spectral_loss
from trainer.model.latent_operator import LatentPdeOperator
from trainer.optimizer.adamw import implementation, make_adamw
from trainer.optimizer.ema import make_ema
from trainer.optimizer.learning_rate import learning_rate

CPU = torch.device("cpu")
ALL_TERMS = {"forward", "spectral", "latent", "inverse_encoding"}


def a_batch(config, pairs: int = 3) -> Batch:
    random = torch.Generator().manual_seed(0)
    fields = torch.randn(2, pairs, config.reduced_points, generator=random)
    return Batch(torch.arange(pairs), fields[0], fields[1], torch.randn(pairs, 2, generator=random))


def terms_of(config) -> tuple[LatentPdeOperator, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    model, batch, choices = LatentPdeOperator(config), a_batch(config), StepChoices.of(config, 0)
    objective = Objective(model, config.loss)
    return model, objective.weighted_terms(
        batch, choices.branch_scale(1, batch.pair), choices.queries(1, batch.pair)
    )


@pytest.mark.parametrize(
    ("term", "trained"),
    [
        ("forward", {"encoder", "operator", "decoder"}),
        ("spectral", {"encoder", "operator", "decoder"}),
        ("latent", {"encoder", "operator"}),
        ("inverse_encoding", {"encoder", "decoder"}),
    ],
)
def test_each_term_reaches_every_parameter_that_it_trains_and_no_other(tmp_path, term, trained):
    model, terms = terms_of(tiny_config(tmp_path))
    terms[term].backward()
    for part in ("encoder", "operator", "decoder"):
        reached = [p.grad is not None and p.grad.abs().max() > 0 for p in getattr(model, part).parameters()]
        assert all(reached) if part in trained else not any(reached), part


@pytest.mark.parametrize("term", sorted(ALL_TERMS - {"forward"}))
def test_a_term_of_weight_zero_is_not_computed(tmp_path, term):
    _, terms = terms_of(tiny_config(tmp_path, f"loss.{term}=0"))
    assert set(terms) == ALL_TERMS - {term}


def test_the_latent_target_gets_no_gradient():
    prediction, target = torch.zeros(1, 2, 3, requires_grad=True), torch.ones(1, 2, 3, requires_grad=True)
    latent_loss(prediction, target).backward()
    assert target.grad is None
    assert prediction.grad is not None


def test_the_spectrum_does_not_see_a_shift():
    field = torch.randn(2, 16)
    assert spectral_loss(field.roll(3, dims=1), field).item() == pytest.approx(0, abs=1e-10)
    assert spectral_loss(2 * field, field).item() > 0.1


def test_the_decoder_answers_at_any_point(tmp_path):
    config = tiny_config(tmp_path)
    model = LatentPdeOperator(config)
    latent = model.encoder(torch.randn(2, config.reduced_points))
    assert latent.shape == (2, config.tokens, config.model.latent_dim)
    at_grid, between = (
        model.decoder(latent, torch.tensor([[0.25, 0.5], [0.25, 0.5]])),
        torch.tensor([[0.3], [0.3]]),
    )
    torch.testing.assert_close(model.decoder(latent, torch.tensor([[0.5], [0.5]])), at_grid[:, 1:])
    assert not torch.allclose(model.decoder(latent, between), at_grid[:, :1])


def test_conditions_change_the_prediction(tmp_path):
    config = tiny_config(tmp_path)
    model, field = LatentPdeOperator(config), torch.randn(1, config.reduced_points)
    slow, fast = (model(field, torch.tensor([[0.0, beta]])) for beta in (-1.0, 1.0))
    assert not torch.allclose(slow, fast)


def test_a_dropped_block_leaves_its_input(tmp_path):
    block = LatentPdeOperator(tiny_config(tmp_path)).operator.blocks[0]
    x, condition = torch.randn(2, 4, 16), torch.randn(2, 16)
    scale = torch.tensor([0.0, 1.0])[:, None, None]
    out = block(x, condition, scale)
    assert torch.equal(out[0], x[0])
    assert not torch.equal(out[1], x[1])


def test_the_learning_rate_warms_up_and_falls_along_a_cosine(tmp_path):
    config = tiny_config(tmp_path, "optimizer.warmup_updates=4", "train.updates=20").optimizer
    rates = [learning_rate(config, step, 20) for step in range(1, 21)]
    assert rates[:4] == pytest.approx([0.25e-3, 0.5e-3, 0.75e-3, 1e-3])
    assert rates[11] == pytest.approx(1e-3 * (0.01 + 0.99 / 2))
    assert rates[19] == pytest.approx(1e-5)


def test_weight_decay_is_for_matrices_only(tmp_path):
    config = tiny_config(tmp_path)
    optimizer = make_adamw(LatentPdeOperator(config), config.optimizer, fused=False, device=CPU)
    decayed, plain = optimizer.param_groups
    assert decayed["weight_decay"] == config.optimizer.weight_decay
    assert plain["weight_decay"] == 0
    assert all(p.ndim >= 2 for p in decayed["params"])
    assert all(p.ndim == 1 for p in plain["params"])


@pytest.mark.parametrize("fused", [False, True])
def test_adamw_takes_the_textbook_step(tmp_path, fused):
    config = tiny_config(tmp_path).optimizer
    layer = torch.nn.Linear(3, 3)
    before = layer.weight.detach().clone()
    optimizer = make_adamw(layer, config, fused=fused, device=CPU)
    layer.weight.grad = torch.full((3, 3), 0.5)
    layer.bias.grad = torch.zeros(3)
    optimizer.step()
    expected = before * (1 - config.learning_rate * config.weight_decay) - config.learning_rate
    torch.testing.assert_close(layer.weight.detach(), expected)
    assert implementation(optimizer) == ("AdamW fused" if fused else "AdamW for-loop")


@pytest.mark.parametrize("foreach", [False, True])
def test_the_average_moves_by_one_minus_decay(foreach):
    layer = torch.nn.Linear(2, 1)
    ema = make_ema(layer, 0.9, foreach=foreach)
    start = layer.weight.detach().clone()
    with torch.no_grad():
        layer.weight += 1
    ema.update()
    torch.testing.assert_close(ema.state_dict()["weight"], start + 0.1)
