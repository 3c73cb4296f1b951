"""The model and its losses."""

from functools import partial

import numpy as np
import pytest
import torch
from tiny import tiny_config
from torch import Tensor

from trainer.build import build_choices, build_model, build_objective
from trainer.config import Config
from trainer.config.load import config_from
from trainer.config.schema import ModelConfig
from trainer.contracts.term import Phase
from trainer.data.batches.batch import Batch
from trainer.data.conditions import condition_size
from trainer.losses.task_places import _border
from trainer.losses.term_inputs import Pairs, TermInputs
from trainer.losses.terms import TERMS
from trainer.losses.terms.spectral import spectral_loss
from trainer.model.attention import CrossAttention
from trainer.model.coordinates import coordinates, token_centres
from trainer.model.decoder import state_head, target_head
from trainer.model.encoder import PatchStem
from trainer.model.latent_operator import LatentPdeOperator, parameter_count

BOTH = "data.tasks=[advection1d, darcy2d]"
TASKS_OF = {
    "forward": {"advection1d", "darcy2d"},
    "spectral": {"advection1d", "darcy2d"},
    "latent": {"advection1d"},
    "inverse_encoding": {"advection1d", "darcy2d"},
    "inverse_decoding": {"advection1d", "darcy2d"},
    "latent_norm": {"advection1d", "darcy2d"},
    "diversity": {"advection1d", "darcy2d"},
    "boundary": {"darcy2d"},
    "conservation": {"advection1d"},
    "positivity": {"darcy2d"},
}
ALL_TERMS = set(TASKS_OF)
ALL_DUE, NOT_DUE = Phase(), Phase(inverse=False, priors=False)


def a_batch(config, pairs: int = 4) -> Batch:
    """Random fields, as many pairs of each task."""
    random = torch.Generator().manual_seed(0)
    fields = [torch.randn(2, pairs, 1, *grid, generator=random) for grid in config.grids.values()]
    conditions = torch.randn(pairs * len(fields), condition_size(config.data.tasks), generator=random)
    number = torch.arange(pairs * len(fields))
    return Batch(number, tuple(f[0] for f in fields), tuple(f[1] for f in fields), conditions)


def terms_of(
    config, phase: Phase = ALL_DUE, step: int = 1
) -> tuple[LatentPdeOperator, dict[str, torch.Tensor]]:
    torch.manual_seed(0)
    model, batch = build_model(config), a_batch(config)
    for head in model.decoder.heads.values():
        torch.nn.init.constant_(head.bias, -1)  # else there is nothing that positivity could correct
    inputs = build_choices(config, 0).inputs(step, batch.pair)
    return model, build_objective(model, config).weighted_terms(batch, inputs, phase)


def reached(part: torch.nn.Module) -> dict[str, bool]:
    return {name: p.grad is not None and bool(p.grad.abs().max() > 0) for name, p in part.named_parameters()}


@pytest.mark.parametrize(
    ("term", "trained"),
    [
        ("forward", {"encoder", "operator", "decoder"}),
        ("spectral", {"encoder", "operator", "decoder"}),
        ("latent", {"encoder", "operator"}),
        ("inverse_encoding", {"encoder", "decoder"}),
        ("inverse_decoding", {"encoder", "decoder"}),
        ("latent_norm", {"encoder"}),
        ("diversity", {"encoder"}),
        ("boundary", {"encoder", "operator", "decoder"}),
        ("conservation", {"encoder", "operator", "decoder"}),
        ("positivity", {"encoder", "operator", "decoder"}),
    ],
)
@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_each_term_reaches_every_parameter_that_it_trains_and_no_other(tmp_path, task, term, trained):
    model, terms = terms_of(tiny_config(tmp_path, f"data.tasks=[{task}]"))
    assert (term in terms) == (task in TASKS_OF[term])
    if term not in terms:
        return
    terms[term].backward()
    for part in ("encoder", "operator", "decoder"):
        found = reached(getattr(model, part))
        if task == "darcy2d" and part == "decoder":  # two heads, for what is given and what is asked for
            other = "heads.darcy2d." if term.startswith("inverse") else "heads.darcy2d_given."
            assert not any(found.pop(name) for name in list(found) if name.startswith(other))
        assert all(found.values()) if part in trained else not any(found.values()), (part, found)


@pytest.mark.parametrize("term", sorted(ALL_TERMS - {"forward"}))
def test_a_term_of_weight_zero_is_not_computed(tmp_path, term):
    _, terms = terms_of(tiny_config(tmp_path, BOTH, f"loss.{term}=0"))
    assert set(terms) == ALL_TERMS - {term}


def test_terms_that_are_not_due_are_not_computed(tmp_path):
    config = tiny_config(tmp_path, BOTH)
    assert set(terms_of(config, Phase(inverse=False))[1]) == ALL_TERMS - {
        "inverse_encoding",
        "inverse_decoding",
    }
    assert set(terms_of(config, Phase(priors=False))[1]) == ALL_TERMS - {
        "boundary",
        "conservation",
        "positivity",
    }


def test_the_recipe_says_when_terms_are_due(tmp_path):
    recipe = ["recipe.inverse_every=3", "recipe.priors_every=2", "recipe.exploration_updates=3"]
    config = tiny_config(tmp_path, *recipe)
    choices = build_choices(config, 0)
    phases = [choices.phase(step) for step in range(1, 8)]
    assert [phase.inverse for phase in phases] == [False, False, False, False, False, True, False]
    assert [phase.priors for phase in phases] == [False, False, False, True, False, True, False]
    assert config.period_updates == 6


def test_the_inverse_terms_warm_up_linearly(tmp_path):
    config = tiny_config(tmp_path, "loss.inverse_warmup_updates=4", "model.drop_path=0")
    full = terms_of(config, step=9)[1]
    for step, share in ((1, 0.25), (3, 0.75), (4, 1.0)):
        terms = terms_of(config, step=step)[1]
        assert terms["inverse_encoding"].item() == pytest.approx(share * full["inverse_encoding"].item())
        assert terms["inverse_decoding"].item() == pytest.approx(share * full["inverse_decoding"].item())
        assert terms["forward"].item() == pytest.approx(full["forward"].item())


@pytest.mark.parametrize("phase", [Phase(), NOT_DUE])
@pytest.mark.parametrize("terms", [(), ("loss.inverse_encoding=0", "loss.inverse_decoding=0")])
def test_every_parameter_gets_a_gradient_in_every_phase(tmp_path, phase, terms):
    config = tiny_config(tmp_path, BOTH, *terms)
    model, batch = build_model(config), a_batch(config)
    inputs = build_choices(config, 0).inputs(1, batch.pair)
    build_objective(model, config)(batch, inputs, phase).backward()
    assert [name for name, parameter in model.named_parameters() if parameter.grad is None] == []


def test_the_operator_can_be_trained_alone(tmp_path):
    others = [f"loss.{term}=0" for term in sorted(ALL_TERMS - {"latent"})]
    model, terms = terms_of(tiny_config(tmp_path, "model.trained=operator", *others))
    assert set(terms) == {"latent"}
    terms["latent"].backward()
    assert all(reached(model.operator).values())
    assert not any(reached(model.encoder).values())
    assert not any(parameter.requires_grad for parameter in model.decoder.parameters())


def test_a_sub_batch_of_the_inverse_terms_is_every_nth_pair(tmp_path):
    half = terms_of(tiny_config(tmp_path, "recipe.inverse_every_nth_pair=2"))[1]
    whole = terms_of(tiny_config(tmp_path))[1]
    assert half["inverse_encoding"].item() != whole["inverse_encoding"].item()
    config = tiny_config(tmp_path)
    torch.manual_seed(0)
    model, batch = build_model(config), a_batch(config)
    torch.nn.init.constant_(model.decoder.heads["advection1d"].bias, -1)
    every_second = Batch(*(part[::2] if torch.is_tensor(part) else (part[0][::2],) for part in batch))
    inputs = build_choices(config, 0).inputs(1, every_second.pair)
    expected = build_objective(model, config).weighted_terms(every_second, inputs, Phase())
    assert half["inverse_encoding"].item() == pytest.approx(expected["inverse_encoding"].item(), rel=1e-5)


TWO, OTHER_TWO = [[[1.0, -3.0]]], [[[0.0, -1.0]]]  # of one pair


@pytest.mark.parametrize(
    ("term", "given", "expected"),
    [
        ("forward", (TWO, OTHER_TWO), (1 + 4) / 2),
        ("latent", (TWO, OTHER_TWO), (1 + 4) / 2),
        ("inverse_encoding", (TWO, OTHER_TWO), (1 + 4) / 2),
        ("inverse_decoding", (TWO, OTHER_TWO), (1 + 4) / 2),
        ("latent_norm", (TWO,), (1 + 9) / 2),
        ("boundary", (TWO,), (1 + 9) / 2),
        ("positivity", (TWO,), 9 / 2),
        ("conservation", ([[[1.0, 2, 6], [0, 0, 0]]], [[[0.0, 0, 3], [3, 0, 0]]]), (2**2 + 1**2) / 2),
        # Of three tokens, in four numbers: deviations of 0.5, 0, 1 and 2.
        ("diversity", ([[[0.0, 1, 1, 2], [0.5, 1, 2, 4], [1, 1, 3, 6]]],), (0.5 + 0.99) / 4),
    ],
)
def test_each_term_is_the_mean_that_it_says(term, given, expected):
    found = TERMS[term].loss(*map(torch.tensor, given)).item()
    assert found == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize("grid", [(8,), (4, 6)])
def test_the_spectral_term_compares_magnitudes_on_all_axes_of_the_grid(grid):
    prediction, target = torch.randn(2, 3, 2, *grid, generator=torch.Generator().manual_seed(0))
    axes = tuple(range(2, 2 + len(grid)))
    magnitudes, of_target = (
        np.abs(np.fft.rfftn(field.numpy(), axes=axes, norm="ortho")) for field in (prediction, target)
    )
    expected = np.square(magnitudes - of_target).mean()
    assert spectral_loss(prediction, target).item() == pytest.approx(expected, rel=1e-5)


def test_a_term_counts_each_task_by_its_share_of_the_pairs(tmp_path):
    config = tiny_config(tmp_path, BOTH, "recipe.task_shares=[3, 1]", "model.drop_path=0")
    model, random = build_model(config), torch.Generator().manual_seed(0)
    objective = build_objective(model, config)
    sizes = {"advection1d": 3, "darcy2d": 1}
    fields, next_fields = (
        tuple(torch.randn(n, 1, *config.grids[task], generator=random) for task, n in sizes.items())
        for _ in range(2)
    )
    condition = torch.randn(4, condition_size(config.data.tasks), generator=random)
    batch = Batch(torch.arange(4), fields, next_fields, condition)
    found = objective.weighted_terms(batch, build_choices(config, 0).inputs(1, batch.pair), ALL_DUE)
    squares, gains = [], []
    for task, field, target, own in zip(sizes, fields, next_fields, condition.split([3, 1]), strict=True):
        prediction = model(task, field, own)
        squares.append((prediction - target).square().mean().item())
        gains.append((prediction - field).flatten(1).mean(dim=1).square().mean().item())
    assert found["forward"].item() == pytest.approx((3 * squares[0] + squares[1]) / 4, rel=1e-5)
    # Darcy's flow conserves nothing, which counts as 0.
    assert found["conservation"].item() == pytest.approx(
        config.loss.conservation * 3 * gains[0] / 4, rel=1e-4
    )


@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
@pytest.mark.parametrize("strategy", ["uniform", "lattice"])
@pytest.mark.parametrize("asked", [set(), {"border", "encoded_again"}])
def test_terms_are_given_what_their_inputs_say(tmp_path, task, strategy, asked):
    sampled = [
        "recipe.query_points=5",
        f"recipe.query_strategy={strategy}",
        "recipe.inverse_every_nth_pair=2",
        "loss.spectral=0",
        "loss.conservation=0",
    ]
    config = tiny_config(tmp_path, f"data.tasks=[{task}]", *sampled)
    model = build_model(config)
    (part,) = build_objective(model, config).tasks
    batch = a_batch(config)
    (field,), (next_field,), (queries,) = (
        batch.fields,
        batch.next_fields,
        build_choices(config, 0).inputs(1, batch.pair).queries,
    )
    latent = model.encoder(task, field)
    advanced, places = torch.randn_like(latent), model.places(task)
    given = TermInputs(part, model, Pairs(field, next_field, latent, advanced, queries), asked)

    def at(values: Tensor, points: Tensor) -> Tensor:
        return torch.stack(
            [value.flatten(1)[:, chosen] for value, chosen in zip(values, points, strict=True)]
        )

    inverse = queries[::2]
    if asked and strategy == "uniform":  # the encoder reads what was decoded on a regular grid
        inverse = part.reread.expand(2, -1)
    reconstruction = model.decoder([state_head(task)], latent[::2], places[inverse])
    expected = {
        "prediction": model.decoder([target_head(task)], advanced, places[queries]),
        "target": at(next_field, queries),
        "field": at(field, queries),
        "encoded_target": model.encoder(task, next_field),
        "encoded_once": latent[::2],
        "reconstruction": reconstruction,
        "reconstructed": at(field[::2], inverse),
    }
    if asked:
        expected["border"] = model.decoder([target_head(task)], advanced, part.border.expand(4, -1, -1))
        expected["encoded_again"] = model.encoder(task, reconstruction.unflatten(2, part.reread_grid))
    torch.testing.assert_close({name: given.tensor(name) for name in expected}, expected)


def test_the_border_is_half_a_cell_outside_the_first_points():
    first, second = _border((4, 8)).chunk(2)
    along = torch.arange(32) / 32
    torch.testing.assert_close(first, torch.stack([torch.full((32,), -0.5 / 4), along], dim=1))
    torch.testing.assert_close(second, torch.stack([along, torch.full((32,), -0.5 / 8)], dim=1))


@pytest.mark.parametrize("term", ["latent", "inverse_decoding"])
def test_latents_that_others_are_held_against_get_no_gradient(term):
    prediction, target = torch.zeros(1, 2, 3, requires_grad=True), torch.ones(1, 2, 3, requires_grad=True)
    TERMS[term].loss(prediction, target).backward()
    assert target.grad is None
    assert prediction.grad is not None


def test_the_spectrum_does_not_see_a_shift():
    field = torch.randn(2, 1, 16)
    assert spectral_loss(field.roll(3, dims=2), field).item() == pytest.approx(0, abs=1e-10)
    assert spectral_loss(2 * field, field).item() > 0.1


@pytest.mark.parametrize(
    ("task", "place", "between"), [("advection1d", [0.5], [0.3]), ("darcy2d", [0.5, 0.25], [0.5, 0.3])]
)
def test_the_decoder_answers_at_any_point(tmp_path, task, place, between):
    config = tiny_config(tmp_path, BOTH)
    model = build_model(config)
    latent = model.encoder(task, torch.randn(2, 1, *config.grids[task]))
    assert latent.shape == (2, config.model.tokens, config.model.latent_dim)
    whole = model.decoder([task], latent, model.places(task).expand(2, -1, -1))
    index = (model.places(task) == torch.tensor(place)).all(dim=1).nonzero().item()
    one, other = (model.decoder([task], latent, torch.tensor([[at], [at]])) for at in (place, between))
    torch.testing.assert_close(one[..., 0], whole[..., index])
    assert not torch.allclose(one, other)


def test_two_dimensional_patches_are_rectangles_of_the_grid(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[darcy2d]")
    encoder = build_model(config).encoder
    field = torch.zeros(1, 1, 8, 8)
    spot = field.clone()
    spot[0, 0, 2:4, 5:7] = 1  # inside the upper right of four patches
    changed = (encoder("darcy2d", spot) - encoder("darcy2d", field)).abs().amax(dim=2)[0] > 0
    assert changed.tolist() == [False, True, False, False]


def test_a_field_on_every_second_point_is_read_by_the_same_patches(tmp_path):
    config = tiny_config(tmp_path, "data.tasks=[darcy2d]")
    encoder, coarse = build_model(config).encoder, torch.randn(1, 1, 4, 4)
    fine = coarse.repeat_interleave(2, dim=2).repeat_interleave(2, dim=3)
    torch.testing.assert_close(encoder("darcy2d", coarse), encoder("darcy2d", fine))


def test_conditions_change_the_prediction(tmp_path):
    config = tiny_config(tmp_path)
    model, field = build_model(config), torch.randn(1, 1, *config.grids["advection1d"])
    slow, fast = (model("advection1d", field, torch.tensor([[0.0, beta, 1.0]])) for beta in (-1.0, 1.0))
    assert not torch.allclose(slow, fast)


def test_the_design_has_its_number_of_parameters():
    """The operator without what conditions go through; the decoder of one scalar field in 1-D."""
    with torch.device("meta"):
        model = build_model(Config())
    conditioning = ("embed_condition", "modulation")
    core = sum(
        p.numel() for name, p in model.operator.named_parameters() if not any(c in name for c in conditioning)
    )
    assert core == 21_375_872
    assert parameter_count(model.decoder) == 2_864_641


@pytest.mark.parametrize(("tokens", "grid"), [(4, (8,)), (8, (4, 8)), (128, (1024,)), (128, (128, 128))])
def test_a_token_is_where_the_points_of_its_patch_are(tokens, grid):
    places = coordinates(grid)
    stem = PatchStem(ModelConfig(tokens=tokens), len(grid), grid)
    patches = stem._patches(places.T.unflatten(1, grid)[None])[0]  # as if the coordinates were the fields
    centres = patches.unflatten(-1, (len(grid), -1)).mean(dim=-1)
    torch.testing.assert_close(token_centres(tokens, grid), centres)


@pytest.mark.parametrize("task", ["advection1d", "darcy2d"])
def test_before_any_training_a_query_looks_at_the_tokens_near_it(task):
    """Behind the first layer, whose queries are small yet."""
    torch.manual_seed(0)
    model = build_model(config_from({"data": {"tasks": [task]}, "loss": {"forward": 1}}, "a test"))
    own_weights = []
    for layer in model.decoder.layers:
        layer.attention.mix = partial(_mix_and_note, layer.attention, own_weights)
    places = model.decoder.get_buffer(f"centres_{task}")
    model.decoder([task], model.encoder(task, torch.randn(2, 1, *model.grids[task])), places[None])
    assert min(own_weights[1:]) > 8 / len(places)


def _mix_and_note(
    attention: CrossAttention, own_weights: list[float], query: Tensor, key_value: Tensor
) -> Tensor:
    """Note the mean weight of the token at a query's own place, then do as ever."""
    sides = (query, key_value.chunk(2, dim=-1)[0])
    queries, keys = (side.unflatten(-1, (attention.heads, -1)).transpose(1, 2) for side in sides)
    weights = (queries @ keys.mT / keys.shape[-1] ** 0.5).softmax(dim=-1)
    own_weights.append(weights.diagonal(dim1=-2, dim2=-1).mean().item())
    return CrossAttention.mix(attention, query, key_value)


def test_a_dropped_block_leaves_its_input(tmp_path):
    block = build_model(tiny_config(tmp_path)).operator.blocks[0]
    x, condition = torch.randn(2, 4, 16), torch.randn(2, 8)
    scale = torch.tensor([0.0, 1.0])[:, None, None]
    out = block(x, condition, scale)
    assert torch.equal(out[0], x[0])
    assert not torch.equal(out[1], x[1])
