"""Learning curves and predicted fields as pictures; without matplotlib there are only numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.learning.fields import Example
from trainer.process.terminal import answer, say


def draw_curves(curves: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Held-out NRMSE of each task over training seconds, one line per model and task."""
    plt = _pyplot(path)
    if plt is None:
        return
    figure, axes = plt.subplots(figsize=(7, 4))
    for model, evaluations in curves.items():
        for key in [key for key in evaluations[-1] if key.startswith("nrmse/")]:
            seconds = [row["training_seconds"] for row in evaluations if key in row]
            errors = [row[key] for row in evaluations if key in row]
            task = key.removeprefix("nrmse/")
            label = model if task in model else f"{model}, {task}"
            axes.plot(seconds, errors, marker="o", label=label)
    axes.set(xlabel="training seconds", ylabel="held-out one-step NRMSE", yscale="log")
    axes.grid(alpha=0.3)
    axes.legend(ncols=2, loc="upper center", bbox_to_anchor=(0.5, -0.15), frameon=False)
    figure.savefig(path, dpi=120, bbox_inches="tight")
    plt.close(figure)
    answer(f"wrote {path}")


def draw_fields(examples: list[Example], path: Path) -> None:
    """One row per example: lines in one dimension, maps in two."""
    plt = _pyplot(path)
    if plt is None:
        return
    figure, rows = plt.subplots(len(examples), 3, figsize=(11, 2.8 * len(examples)), squeeze=False)
    for axes, example in zip(rows, examples, strict=True):
        (_draw_lines if example.true.ndim == 1 else _draw_maps)(figure, axes, example)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)
    answer(f"wrote {path}")


def _draw_lines(_figure, axes, example: Example) -> None:
    x = np.arange(len(example.true)) / len(example.true)
    axes[0].plot(x, example.given, color="grey")
    axes[1].plot(x, example.true, color="black", label="true")
    axes[1].plot(x, example.predicted, "--", color="tab:orange", label="predicted")
    axes[1].legend(loc="upper right", fontsize="small")
    axes[2].plot(x, example.predicted - example.true, color="tab:red")
    for place, title in zip(axes, ("u(t)", "u(t + dt)", "predicted - true"), strict=True):
        place.set(title=f"{example.task}: {title}", xlabel="x")


def _draw_maps(figure, axes, example: Example) -> None:
    error = example.predicted - example.true
    low, high, size = example.true.min(), example.true.max(), np.abs(error).max()
    parts = (
        (example.true, "true u", {"vmin": low, "vmax": high}),
        (example.predicted, "predicted u", {"vmin": low, "vmax": high}),
        (error, "predicted - true", {"vmin": -size, "vmax": size, "cmap": "coolwarm"}),
    )
    for place, (field, title, colours) in zip(axes, parts, strict=True):
        image = place.imshow(field.T, origin="lower", extent=(0, 1, 0, 1), **colours)
        place.set(title=f"{example.task}: {title}", xlabel="x", ylabel="y")
        figure.colorbar(image, ax=place)


def _pyplot(path: Path):
    """Return matplotlib's pyplot for files, or None and a word about it."""
    if importlib.util.find_spec("matplotlib") is None:
        say(f"{path.name} is not drawn, because matplotlib is not installed")
        return None
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot
