"""What each of several ranks holds after a step.

Usage, in each rank: held_in_ranks.py CONFIG OUT NAME=OVERRIDE,OVERRIDE ...; writes OUT/NAME-RANK.json.
"""

import json
import sys
from pathlib import Path

from trainer.config import load_config
from trainer.data.batches.feed import Share, open_feed
from trainer.data.splits import open_data
from trainer.optimizer.muon_batched import BatchedMuon
from trainer.process.world import open_world
from trainer.profiling.memory import held_bytes
from trainer.run.step.learner import Learner


def main(config: str, out: str, *runs: str) -> None:
    with open_world(600) as world:
        for run in runs:
            name, _, overrides = run.partition("=")
            resolved = load_config(Path(config), overrides.split(","))
            data = open_data(resolved)
            share = Share(data.train.schedule(resolved.train.pairs_per_update, 0), world.rank, world.size, 1)
            feed = open_feed(data.train, share, 1, resolved.speed, world.device)
            learner = Learner(resolved, 0, world)
            learner.update(1, feed)
            muons = [part for part in learner.optimizer.parts if isinstance(part, BatchedMuon)]
            momentum = sum(tensor.nbytes for muon in muons for tensor in muon.momentum.values())
            found = {**held_bytes(learner, feed), "momentum": momentum}
            (Path(out) / f"{name}-{world.rank}.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
