"""Held-out trajectories predicted from their first frame on, step after step, and PDEBench's errors of that.

Takamoto et al. 2022 and their metrics code define them, in physical units. RMSE, NRMSE and the border's are a
root mean square over space, per trajectory, then the mean over trajectories; those of the mean (cRMSE) and of
the Fourier modes (fRMSE) are a root mean square over trajectories. Each is then the mean over fields and
steps; a steady task has one step. Every rank takes its share of the trajectories.

The mass gap is ours, of tasks that conserve the mean of a field: by how much the mean has changed at the last
frame, in root mean squares of the field at the first. So are the scores of a task's laws, as means over
trajectories at the last frame, of what was predicted and, under the name `..._true`, of the file itself.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from trainer.data.batches.pair_readers import MappedPairs
from trainer.data.files.normalisation import physical
from trainer.process.terminal import show_progress
from trainer.process.world import World

LOW_MODES, HIGH_MODES = 4, 12  # low: below 4, middle: from there to 11, high: from 12 on


class Rollouts:
    """`trajectories` of each file, the first of the held-out ones; at most `at_once` go through the model."""

    def __init__(self, pairs: MappedPairs, trajectories: int, world: World, at_once: int) -> None:
        self.pairs, self.world, self.at_once = pairs, world, at_once
        table = pairs.table
        of_files = [np.flatnonzero(table.file_index == index) for index in range(len(pairs.files))]
        every = np.concatenate([chosen[:trajectories] for chosen in of_files])
        self.mine = every[world.rank :: world.size]
        self.frames = range(0, pairs.files[0].frames, int(table.stride[0]))

    @torch.no_grad()
    def errors(self, model: nn.Module) -> dict[str, float]:
        """Return the errors by name; of a rollout that blows up they are not finite."""
        task, totals, largest = self.pairs.task, [], []
        state, units = self._frame(0), self._units()
        conditions = self._condition().split(self.at_once)
        mass_at_start = physical(state, *units).flatten(2).mean(dim=2)
        size_at_start = physical(state, *units).flatten(2).square().mean(dim=2).sqrt()
        for frame in self.frames[1:]:
            given = self.pairs.with_statics(state, self.mine)
            parts = zip(given.split(self.at_once), conditions, strict=True)
            state = torch.cat([model(task.name, *part) for part in parts])
            predicted, target = (physical(part.double(), *units) for part in (state, self._frame(frame)))
            totals.append(_sums(predicted, target))
            largest.append(_largest(predicted - target))
            if self.world.rank == 0:
                show_progress(f"rolling out {task.name}, frame", frame, self.frames[-1], stays=False)
        found = self._means(torch.stack(totals), torch.stack(largest))
        if task.conserved:
            drift = (predicted.flatten(2).mean(dim=2) - mass_at_start).abs()
            found |= self._mass_gaps(drift / size_at_start.clamp_min(1e-12))
        found |= self._scores(predicted, target)
        return {f"{name}/{task.name}": value for name, value in found.items()}

    def _means(
        self, sums: Float[Tensor, "steps parts"], largest: Float[Tensor, " steps"]
    ) -> dict[str, float]:
        sums = self.world.gather(sums).sum(dim=0)
        means = sums[:, 1:] / sums[:, :1]
        rmse, nrmse, brmse = means[:, :3].T
        root = means[:, 3:].clamp_min(0).sqrt()  # mean squares over the trajectories
        modes = root[:, 1:]
        found = {
            "rmse": rmse.mean(),
            "nrmse": nrmse.mean(),
            "crmse": root[:, 0].mean(),
            "brmse": brmse.mean(),
            "max": self.world.gather(largest).amax(dim=0).mean(),
        }
        bands = {
            "low": slice(LOW_MODES),
            "mid": slice(LOW_MODES, HIGH_MODES),
            "high": slice(HIGH_MODES, None),
        }
        for name, band in bands.items():
            if modes[:, band].numel():  # a coarse grid has no high modes
                found[f"frmse_{name}"] = modes[:, band].mean()
        return {f"rollout_{name}": value.item() for name, value in found.items()}

    def _mass_gaps(self, gaps: Float[Tensor, "n fields"]) -> dict[str, float]:
        """Return the mean over trajectories and fields, and the worst of them, which a mean can hide."""
        mine = torch.stack([gaps.mean(dim=1).sum(), gaps.new_tensor(len(gaps)), _largest(gaps)])
        sums, counts, worst = self.world.gather(mine).T
        return {"mass_gap": (sums.sum() / counts.sum()).item(), "mass_gap_max": worst.max().item()}

    def _scores(
        self, predicted: Float[Tensor, "n fields *grid"], target: Float[Tensor, "n fields *grid"]
    ) -> dict[str, float]:
        scores, ends = self.pairs.task.scores, {"": predicted, "_true": target}
        if not scores:
            return {}
        start = physical(self._frame(0).double(), *self._units())
        spacing = tuple(step * self.pairs.every for step in self.pairs.files[0].spacing)
        of_each = [score.of(start, end, spacing).double().sum() for score in scores for end in ends.values()]
        mine = torch.stack([*of_each, predicted.new_tensor(len(predicted))])
        *sums, count = self.world.gather(mine).sum(dim=0)
        names = [f"physics_{score.name}{which}" for score in scores for which in ends]
        return {name: (total / count).item() for name, total in zip(names, sums, strict=True)}

    def _frame(self, frame: int) -> Tensor:
        units = self.pairs.normalisation.state if frame == 0 else self.pairs.normalisation.target
        states = self.pairs.frames(self.mine, np.full(len(self.mine), frame), units)
        return states.to(self.world.device)

    def _units(self) -> list[Tensor]:
        units, index = self.pairs.normalisation.target, self.pairs.table.file_index[self.mine]
        parts = (units.mean[index], units.scale[index])
        return [torch.from_numpy(part).double().to(self.world.device) for part in parts]

    def _condition(self) -> Tensor:
        per_frame_pair, per_trajectory = self.pairs.conditions
        return torch.from_numpy(per_frame_pair[0] + per_trajectory[self.mine]).to(self.world.device)


def finite_part(errors: dict[str, float]) -> dict[str, float]:
    """What a file of numbers can hold."""
    return {name: value for name, value in errors.items() if np.isfinite(value)}


def _sums(
    predicted: Float[Tensor, "n fields *grid"], target: Float[Tensor, "n fields *grid"]
) -> Float[Tensor, " parts"]:
    """Sums over trajectories: their number, RMSE, NRMSE, the border's RMSE, squares of mean and modes."""
    error = predicted - target
    rmse = error.flatten(2).square().mean(dim=2).sqrt()
    size = target.flatten(2).square().mean(dim=2).sqrt().clamp_min(1e-12)
    border = _border(error).square().mean(dim=2).sqrt()
    parts = [rmse, rmse / size, border, error.flatten(2).mean(dim=2).square()]
    modes = _mode_squares(error).mean(dim=1).sum(dim=0)
    return torch.cat(
        [torch.stack([modes.new_tensor(len(error)), *(p.mean(dim=1).sum() for p in parts)]), modes]
    )


def _largest(error: Float[Tensor, "n fields *grid"]) -> Float[Tensor, ""]:
    return error.abs().max() if len(error) else error.new_zeros(())


def _border(error: Float[Tensor, "n fields *grid"]) -> Float[Tensor, "n fields places"]:
    """Values in the outermost cells; those in corners count twice."""
    ends = [
        error.narrow(axis, first, 1).flatten(2)
        for axis in range(2, error.ndim)
        for first in (0, error.shape[axis] - 1)
    ]
    return torch.cat(ends, dim=2)


def _mode_squares(error: Float[Tensor, "n fields *grid"]) -> Float[Tensor, "n fields modes"]:
    """Squared Fourier amplitudes by wave number.

    In 2-D summed over the shell of each whole wave number, of which PDEBench takes the quadrant where neither
    component is negative.
    """
    points = error.shape[2:].numel()
    if error.ndim == 3:
        return (torch.fft.rfft(error, dim=2).abs() / points).square()
    rows, columns = (n // 2 for n in error.shape[2:])
    spectrum = (torch.fft.fft2(error)[..., :rows, :columns].abs() / points).square().flatten(2)
    row, column = (torch.arange(n, device=error.device) for n in (rows, columns))
    shell = (row[:, None].square() + column.square()).sqrt().long().flatten()
    shells = min(rows, columns)
    summed = spectrum.new_zeros(*spectrum.shape[:2], rows + columns)
    return summed.index_add_(2, shell, spectrum)[..., :shells]
