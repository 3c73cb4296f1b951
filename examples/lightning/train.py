"""A small convolutional network on synthetic images, trained by Lightning. It knows nothing of Speedproof."""

import argparse
import os
from itertools import pairwise

import lightning
import torch
from torch import nn

CLASSES = 4


class Classifier(lightning.LightningModule):
    def __init__(self, channels_last: bool) -> None:
        super().__init__()
        widths = (3, 16, 32, 32)
        layers = [
            layer
            for before, after in pairwise(widths)
            for layer in (nn.Conv2d(before, after, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        ]
        self.network = nn.Sequential(*layers, nn.Flatten(), nn.LazyLinear(CLASSES))
        self.format = torch.channels_last if channels_last else torch.contiguous_format
        self.network(torch.zeros(1, 3, 32, 32))  # shapes the lazy layer
        self.to(memory_format=self.format)

    def loss(self, batch: list[torch.Tensor]) -> torch.Tensor:
        images, labels = batch
        return nn.functional.cross_entropy(self.network(images.to(memory_format=self.format)), labels)

    def training_step(self, batch: list[torch.Tensor], index: int) -> torch.Tensor:
        return self.loss(batch)

    def validation_step(self, batch: list[torch.Tensor], index: int) -> None:
        self.log("val_loss", self.loss(batch), sync_dist=True)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.parameters(), lr=1e-3)


def images(count: int, seed: int) -> torch.utils.data.TensorDataset:
    """Noise with a bright quarter, which is the class."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.randint(CLASSES, (count,), generator=generator)
    noise = torch.randn(count, 3, 32, 32, generator=generator)
    for number, label in enumerate(labels.tolist()):
        row, column = 16 * (label // 2), 16 * (label % 2)
        noise[number, :, row : row + 16, column : column + 16] += 0.3
    return torch.utils.data.TensorDataset(noise, labels)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", default="lightning_logs")
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--channels_last", choices=["true", "false"], default="false")
    options = parser.parse_args()
    lightning.seed_everything(options.seed)
    trainer = lightning.Trainer(
        accelerator="cpu",
        devices=int(os.environ.get("WORLD_SIZE", "1")),  # those that torchrun has started
        max_steps=options.steps,
        default_root_dir=options.out,
        enable_progress_bar=False,
        enable_checkpointing=False,
        logger=False,
        val_check_interval=options.steps // 2,
    )
    loader = torch.utils.data.DataLoader
    trainer.fit(
        Classifier(options.channels_last == "true"),
        loader(images(32 * options.steps, seed=1), batch_size=32, shuffle=True),
        loader(images(256, seed=2), batch_size=64),
    )


if __name__ == "__main__":
    main()
    os._exit(0)  # All is done; on two processes a usual exit crashes now and then, by a thread of torch's.
