"""A small network in an Accelerate loop. The five lines that name a recorder report to Speedproof."""

import argparse

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from speedproof import Recorder
from torch import nn

FEATURES = 64


def samples(count: int, seed: int) -> torch.utils.data.TensorDataset:
    inputs = torch.randn(count, FEATURES, generator=torch.Generator().manual_seed(seed))
    return torch.utils.data.TensorDataset(inputs, torch.sin(inputs.sum(dim=1, keepdim=True) / 4))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=64, help="of each process")
    parser.add_argument("--fused", choices=["true", "false"], default="false")
    options = parser.parse_args()
    accelerator = Accelerator(cpu=True)
    set_seed(options.seed)
    layers = [layer for _ in range(8) for layer in (nn.Linear(256, 256), nn.GELU())]
    model = nn.Sequential(nn.Linear(FEATURES, 256), *layers, nn.Linear(256, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=options.fused == "true")
    count = options.steps * options.batch * accelerator.num_processes
    loader = torch.utils.data.DataLoader(samples(count, seed=1), batch_size=options.batch, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    recorder = Recorder().start(model=model, optimizer=optimizer, seed=options.seed)
    for inputs, wanted in loader:
        loss = nn.functional.mse_loss(model(inputs), wanted)
        accelerator.backward(loss)
        optimizer.step()
        optimizer.zero_grad()
        recorder.step(samples=len(inputs), loss=loss)
    held_out = samples(512, seed=2).tensors
    with torch.no_grad():
        loss = nn.functional.mse_loss(model(held_out[0]), held_out[1])
    recorder.evaluate(loss, held_out=held_out)
    recorder.close()
    accelerator.print(f"held-out loss {loss.item():.6f} after {options.steps} steps")


if __name__ == "__main__":
    main()
