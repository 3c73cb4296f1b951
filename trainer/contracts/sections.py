"""The settings that no task, loss term or switch of the model brings, by section."""

from dataclasses import dataclass
from typing import Annotated, Literal

from trainer.contracts.settings import (
    AtLeast,
    AveragedUpdates,
    Between,
    Count,
    CountOrZero,
    Decay,
    NotEmpty,
    Positive,
    Seconds,
    Weight,
)

LEAST_PAIRS = 16  # of a step: gradients of fewer are mostly noise


@dataclass(frozen=True)
class ModelConfig:
    tokens: Count = 128  # equal patches of every grid
    latent_dim: Count = 128
    hidden_dim: Count = 384
    depth: Count = 12
    heads: Count = 8
    drop_path: Annotated[float, Between(0, 0.9)] = 0.1  # of the last block; linear in depth
    decoder_hidden_dim: Count = 384
    decoder_depth: Count = 3
    decoder_heads: Count = 4
    position_frequencies: Annotated[tuple[Count, ...], NotEmpty()] = (1, 2, 4, 8)
    # operator: encoder and decoder stay as they are drawn, so val_loss means nothing; to compare throughput.
    trained: Literal["all", "operator"] = "all"


@dataclass(frozen=True)
class AnyLoss:
    """Weights of the terms; a term of weight 0 is not computed."""

    inverse_warmup_updates: CountOrZero = 0  # linear ramp of the inverse terms, in a recipe's steps


@dataclass(frozen=True)
class OptimizerConfig:
    """Linear warm-up, then a cosine to a hundredth of the learning rate, the same for both optimizers.

    It ends with the training. A recipe may end it sooner, and have another warm-up.
    """

    matrices: Literal["muon", "adamw"] = "muon"  # inside, as optimizer/matrices.py says; all else is AdamW's
    learning_rate: Positive = 1.4e-3
    weight_decay: Weight = 0.03  # none for biases and norms
    warmup_updates: CountOrZero = 100
    clip_norm: Positive | None = None
    ema_decay: Decay = 0.999


@dataclass(frozen=True)
class TrainConfig:
    updates: Count = 1000
    pairs_per_update: Annotated[int, AtLeast(LEAST_PAIRS)] = 256  # over all ranks and micro-steps
    rest: Literal["drop", "pad"] = "drop"  # pairs at the end of a pass that fill no update
    window_updates: Count = 10  # updates per `steps` event
    timeout_seconds: Seconds = 600.0  # of a collective operation
    checkpoint_every_updates: CountOrZero = 0  # 0 = only at the end
    keep_best: bool = False  # also keep the checkpoint with the lowest val_loss
    checksum_every_updates: CountOrZero = 0  # compares checksums of the weights of all ranks; 0 = never
    detect_anomaly: bool = False  # names the operation that made a NaN; slow, of eager code


@dataclass(frozen=True)
class EvaluationConfig:
    every_updates: CountOrZero = 0  # 0 = only at the end
    batch_pairs: Count = 256  # per rank, of the finest grid, and of coarser ones as many points; for memory
    rollout_trajectories: CountOrZero = 8  # of each file, predicted step after step; 0 = none


@dataclass(frozen=True)
class AnySpeed:
    """What two variants of a same-work experiment may differ in: how the work is done, never which work."""

    data_path: Literal["loader", "resident"] = "loader"
    loader_workers: CountOrZero = 2  # per rank; 0 = in the training process
    loader_prefetch: Count = 2  # micro-batches per worker
    loader_pinned: bool = True  # copied to the GPU from pages that stay in place
    accumulation_steps: Count = 1  # micro-steps per update, at equal pairs_per_update
    precision: Literal["fp32", "fp16", "bf16"] = "fp32"
    wrapper: Literal["none", "ddp", "flat", "fsdp2"] = "ddp"  # of several ranks; one rank needs none
    reduce_gradients: Literal["last-micro-step", "every-micro-step"] = "last-micro-step"
    muon: Literal["loop", "batched", "sharded"] = "loop"  # sharded: each rank takes some of the matrices
    # fallback: a switch that fails on this machine is off, and says why; in a gated run it ends the run too.
    on_failure: Literal["error", "fallback"] = "error"
    cuda_graph: bool = False  # one launch replays a whole update
    cudnn_autotune: bool = False
    nccl: tuple[str, ...] = ()  # its environment, as NAME=value
    memory_cleanup_updates: CountOrZero = 0  # 0 = as Python and torch see fit
    metric_reads: Literal["window", "update"] = "window"  # losses and norms, at its end by the host
    trace_updates: CountOrZero = 0  # updates in a Chrome trace next to metrics.jsonl
    async_checkpoint: bool = False  # written from a copy, by a thread
    fused_adamw: bool = False
    offload_adamw: bool = False  # its state and its step are the host's
    foreach_ema: bool = False


@dataclass(frozen=True)
class RecipeConfig:
    """What only a recipe experiment may change."""

    query_points: Count | None = None  # decoded points per pair, at most; null = the whole grid
    query_strategy: Literal["uniform", "stratified", "lattice"] = "uniform"
    inverse_every: Count = 1  # steps from one computation of the inverse terms to the next
    inverse_every_nth_pair: Count = 1  # pairs of a batch that have inverse terms
    priors_every: Count = 1  # steps from one computation of boundary, conservation and positivity to the next
    exploration_updates: CountOrZero = 0  # steps at the start, without inverse terms and priors
    # Makes smaller steps than pairs_per_update, of the same pairs in the same order. The length of the
    # training, its warm-up, evaluations, checkpoints and checksums count the updates that there would be
    # without; exploration, inverse terms and priors count steps. Learning rate and weight decay go with the
    # square root of the size, and the decay of the average is taken to its power.
    batch_cut_into: Count = 1  # steps that take the place of an update
    # Updates in which the learning rate warms up; null = optimizer.warmup_updates.
    warmup_updates: CountOrZero | None = None
    # Updates in which it warms up and falls, lowest from there on; null = train.updates.
    schedule_updates: Count | None = None
    # Updates over which weights are averaged, of which 1/e is left after so many; the average is the model
    # that is evaluated. null = by optimizer.ema_decay, and the weights themselves are evaluated.
    average_updates: AveragedUpdates | None = None
    task_shares: tuple[Count, ...] = ()  # relative numbers of pairs in the order of data.tasks; empty = equal

    def shares(self, tasks: int) -> tuple[int, ...]:
        """Relative numbers of pairs, one for each of so many tasks."""
        return self.task_shares or (1,) * tasks
