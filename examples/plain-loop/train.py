"""A GPT in one file, after the manner of many: `--key=value` sets the globals below, losses are printed."""

import ast
import sys
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn.functional import cross_entropy, scaled_dot_product_attention

# Settings, each of which `--name=value` replaces.
out_dir = "out"
seed = 1337
max_iters = 60
eval_interval = 30
eval_iters = 8
batch_size = 16
block_size = 64
vocabulary = 48
n_layer, n_head, n_embd = 3, 4, 64
learning_rate = 1e-3
flash = False  # attention by one fused operation in place of a matrix of weights

SETTINGS = {
    name: value
    for name, value in globals().items()
    if isinstance(value, (int, float, str)) and name[0] != "_"
}
for argument in sys.argv[1:]:
    name, _, text = argument.removeprefix("--").partition("=")
    if name not in SETTINGS:
        raise SystemExit(f"unknown setting {name}; known: {', '.join(SETTINGS)}")
    globals()[name] = text if isinstance(SETTINGS[name], str) else ast.literal_eval(text)


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.pack, self.out = nn.Linear(n_embd, 3 * n_embd), nn.Linear(n_embd, n_embd)
        self.register_buffer("mask", torch.ones(block_size, block_size, dtype=torch.bool).tril())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        query, key, value = self.pack(x).unflatten(-1, (3, n_head, -1)).permute(2, 0, 3, 1, 4)
        if flash:
            mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        else:
            scores = query @ key.transpose(-2, -1) * key.shape[-1] ** -0.5
            mixed = scores.masked_fill(~self.mask, float("-inf")).softmax(dim=-1) @ value
        return self.out(mixed.transpose(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before, self.attention = nn.LayerNorm(n_embd), Attention()
        self.between = nn.LayerNorm(n_embd)
        self.wide = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attention(self.before(x))
        return x + self.wide(self.between(x))


class Gpt(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.token, self.place = nn.Embedding(vocabulary, n_embd), nn.Embedding(block_size, n_embd)
        self.blocks = nn.Sequential(*(Block() for _ in range(n_layer)))
        self.norm, self.head = nn.LayerNorm(n_embd), nn.Linear(n_embd, vocabulary, bias=False)

    def forward(self, tokens: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
        x = self.token(tokens) + self.place.weight[: tokens.shape[1]]
        return cross_entropy(self.head(self.norm(self.blocks(x))).flatten(0, 1), wanted.flatten())


def batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Text in which a token follows from the two before it, with some noise."""
    text = torch.randint(vocabulary, (batch_size, block_size + 1), generator=generator)
    for place in range(2, block_size + 1):
        certain = torch.rand(batch_size, generator=generator) < 0.9
        follows = (3 * text[:, place - 1] + text[:, place - 2]) % vocabulary
        text[:, place] = torch.where(certain, follows, text[:, place])
    return text[:, :-1], text[:, 1:]


@torch.no_grad()
def held_out_loss(model: Gpt) -> float:
    generator = torch.Generator().manual_seed(1)
    return sum(model(*batch(generator)).item() for _ in range(eval_iters)) / eval_iters


Path(out_dir).mkdir(parents=True, exist_ok=True)
torch.manual_seed(seed)
model = Gpt()
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate)
text = torch.Generator().manual_seed(seed)
print(f"number of parameters: {sum(part.numel() for part in model.parameters())}")
for number in range(max_iters):
    if number % eval_interval == 0:
        print(f"step {number}: val loss {held_out_loss(model):.6f}")
    started = time.perf_counter()
    loss = model(*batch(text))
    loss.backward()
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    print(f"iter {number}: loss {loss.item():.6f}, time {1000 * (time.perf_counter() - started):.3f}ms")
print(f"step {max_iters}: val loss {held_out_loss(model):.6f}")
torch.save(model.state_dict(), Path(out_dir, "ckpt.pt"))
