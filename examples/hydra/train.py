"""A small network behind a hydra config. The five lines that name a recorder report to Speedproof."""

import hydra
import torch
from omegaconf import DictConfig, OmegaConf
from speedproof import Recorder
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

FEATURES = 64


def samples(count: int, seed: int) -> TensorDataset:
    inputs = torch.randn(count, FEATURES, generator=torch.Generator().manual_seed(seed))
    return TensorDataset(inputs, torch.sin(inputs.sum(dim=1, keepdim=True) / 4))


@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(config: DictConfig) -> None:
    torch.manual_seed(config.seed)
    width = config.model.width
    layers = [layer for _ in range(config.model.depth) for layer in (nn.Linear(width, width), nn.GELU())]
    model = nn.Sequential(nn.Linear(FEATURES, width), *layers, nn.Linear(width, 1))
    optimizer = torch.optim.AdamW(model.parameters(), **config.optimizer)
    loader = DataLoader(samples(config.steps * config.batch, seed=1), batch_size=config.batch, shuffle=True)
    inputs, wanted = samples(512, seed=2).tensors
    with Recorder() as recorder:
        recorder.start(
            model=model, optimizer=optimizer, config=OmegaConf.to_container(config), seed=config.seed
        )
        for batch, goal in loader:
            loss = nn.functional.mse_loss(model(batch), goal)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            recorder.step(samples=len(batch), loss=loss)
        with torch.no_grad():
            loss = nn.functional.mse_loss(model(inputs), wanted)
            recorder.evaluate(loss, held_out=(inputs, wanted))


if __name__ == "__main__":
    main()
