"""Units in which the model works, measured on the training split alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trainer.data.layout import TrajectoryFile
from trainer.data.pairs import PairTable

CONDITIONS = 2  # dt and beta


@dataclass(frozen=True)
class Normalisation:
    """Field: (u - mean) * scale. Conditions: the same of their logarithms, in the order dt, beta."""

    field_mean: float
    field_scale: float
    condition_mean: tuple[float, float]
    condition_scale: tuple[float, float]

    def normalise(self, field):
        """Works on arrays and tensors; two separately rounded operations give the same bits on every device."""
        return (field - self.field_mean) * self.field_scale


def measure_normalisation(files: list[TrajectoryFile], table: PairTable, reduced_resolution: int) -> Normalisation:
    """Return mean and scale over every frame of the table's trajectories."""
    total = squares = count = 0.0
    for index, file in enumerate(files):
        values = file.values()
        for row in table.row[table.file_index == index]:
            field = values[row, :, ::reduced_resolution].astype(np.float64)
            total, squares, count = total + field.sum(), squares + np.square(field).sum(), count + field.size
    mean = total / count
    logs = _log_conditions(files, table)
    return Normalisation(
        field_mean=float(mean),
        field_scale=_scale(squares / count - mean**2),
        condition_mean=(float(logs[0].mean()), float(logs[1].mean())),
        condition_scale=(_scale(logs[0].var()), _scale(logs[1].var())),
    )


def conditions(
    files: list[TrajectoryFile], table: PairTable, normalisation: Normalisation
) -> tuple[np.ndarray, np.ndarray]:
    """Return normalised log dt per frame pair and log beta per trajectory, float32."""
    parts = zip(
        _log_conditions(files, table), normalisation.condition_mean, normalisation.condition_scale, strict=True
    )
    per_frame_pair, per_trajectory = (((logs - mean) * scale).astype(np.float32) for logs, mean, scale in parts)
    return per_frame_pair, per_trajectory


def _log_conditions(files: list[TrajectoryFile], table: PairTable) -> tuple[np.ndarray, np.ndarray]:
    betas = np.array([file.beta for file in files])
    return np.log(table.stride * files[0].frame_seconds), np.log(betas[table.file_index])


def _scale(variance: float) -> float:
    return 1.0 / float(np.sqrt(variance)) if variance > 1e-12 else 1.0  # a constant stays as it is
