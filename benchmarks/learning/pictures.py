"""Learning curves and predicted fields as pictures; without matplotlib there are only numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np

from benchmarks.learning.fields import Example
from trainer.contracts.task import Task
from trainer.data.layouts.field_file import FieldFile
from trainer.process.terminal import answer, say

COLOURS = 96  # of a picture of fields


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


def draw_task(files: list[FieldFile], task: Task, path: Path) -> None:
    """The first trajectory: over time in one dimension, of up to three files; at four times in two."""
    plt = _pyplot(path)
    if plt is None:
        return
    names = (*task.state, *task.target) if task.steady else task.state
    is_film = len(files[0].grid) == 2 and not task.steady
    numbers = {len(files) // 2} if is_film else {0, len(files) // 2, len(files) - 1}
    panels = [panel for n in sorted(numbers) for panel in _panels(files[n], names, steady=task.steady)]
    columns = 4 if is_film else len(names)
    rows = -(-len(panels) // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(2.3 * columns, 2.1 * rows), squeeze=False)
    for place, (title, values, extent) in zip(axes.flat, panels, strict=True):
        aspect = "equal" if len(files[0].grid) == 2 else "auto"
        image = place.imshow(values, origin="lower", aspect=aspect, extent=extent, cmap="viridis")
        place.set_title(title, fontsize=7)
        place.tick_params(labelsize=6)
        figure.colorbar(image, ax=place).ax.tick_params(labelsize=6)
    case = ", ".join(f"{name} {value:g}" for name, value in files[max(numbers)].parameters.items())
    figure.suptitle(f"{task.name} {case}" if is_film else task.name, fontsize=9)
    figure.tight_layout()
    figure.savefig(path, dpi=60)
    plt.close(figure)
    _reduce_colours(path)
    answer(f"wrote {path}")


def _reduce_colours(path: Path) -> None:
    """To a palette, in a third of the bytes."""
    from PIL import Image  # which matplotlib needs itself

    with Image.open(path) as image:
        image.convert("RGB").quantize(COLOURS).save(path, optimize=True)


def _panels(file: FieldFile, names: tuple[str, ...], *, steady: bool) -> list[tuple[str, np.ndarray, tuple]]:
    """Title, picture and extent of each panel."""
    frames = np.arange(file.frames)
    states = file.states().take(np.zeros_like(frames), frames, 1)
    case = ", ".join(f"{name} {value:g}" for name, value in file.parameters.items())
    sides = [spacing * points for spacing, points in zip(file.spacing, file.grid, strict=True)]
    if len(file.grid) == 1:
        extent = (0, sides[0], 0, file.frame_seconds * (file.frames - 1))
        return [(f"{name}(x, t) {case}", states[:, n], extent) for n, name in enumerate(names)]
    extent = (0, sides[0], 0, sides[1])
    if steady:
        return [(f"{name} {case}", states[n, 0].T, extent) for n, name in enumerate(names)]
    shown = np.linspace(0, file.frames - 1, 4).round().astype(int)
    return [
        (f"{name}, t {frame * file.frame_seconds:.3g}", states[frame, n].T, extent)
        for n, name in enumerate(names)
        for frame in shown
    ]


def _pyplot(path: Path):
    """Return matplotlib's pyplot for files, or None and a word about it."""
    if importlib.util.find_spec("matplotlib") is None:
        say(f"{path.name} is not drawn, because matplotlib is not installed")
        return None
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot

    return matplotlib.pyplot
