"""Every setting of a training, its type, its range and its default."""

from dataclasses import dataclass, field
from typing import Annotated, Literal

from trainer.config.ranges import AtLeast, Between, MoreThan, NotEmpty

Count = Annotated[int, AtLeast(1)]
CountOrZero = Annotated[int, AtLeast(0)]
Positive = Annotated[float, MoreThan(0)]
Weight = Annotated[float, AtLeast(0)]
Decay = Annotated[float, Between(0, 1)]


@dataclass(frozen=True)
class Advection1dConfig:
    """PDEBench's 1-D advection: u_t + beta u_x = 0 on [0, 1], periodic."""

    betas: Annotated[tuple[Positive, ...], NotEmpty()] = (0.1, 0.2, 0.4, 0.7, 1.0, 2.0, 4.0, 7.0)
    trajectories: Annotated[int, AtLeast(2)] = 1000  # per beta
    grid_points: Annotated[int, AtLeast(4)] = 1024
    frames: Annotated[int, AtLeast(2)] = 201
    end_time: Positive = 2.0
    waves: Count = 2  # sines in one initial condition
    max_wave_number: Count = 8


@dataclass(frozen=True)
class DataConfig:
    root: str = (
        "data"  # a folder of PDEBench files is used as it is; otherwise generated data are cached here
    )
    seed: CountOrZero = 0
    held_out_fraction: Annotated[float, Between(0, 1)] = 0.1  # of the trajectories of each file
    reduced_resolution: Count = 4  # every n-th grid point
    frame_strides: Annotated[tuple[Count, ...], NotEmpty()] = (1,)  # dt of a pair, in frames
    advection1d: Advection1dConfig = field(default_factory=Advection1dConfig)


@dataclass(frozen=True)
class ModelConfig:
    patch_points: Count = 2  # grid points per token
    latent_dim: Count = 128
    hidden_dim: Count = 384
    depth: Count = 12
    heads: Count = 8
    drop_path: Annotated[float, Between(0, 0.9)] = 0.1  # of the last block; linear in depth
    decoder_hidden_dim: Count = 384
    decoder_depth: Count = 3
    decoder_heads: Count = 4
    position_frequencies: Annotated[tuple[Count, ...], NotEmpty()] = (1, 2, 4, 8)


@dataclass(frozen=True)
class LossConfig:
    """Weights of the terms; a term of weight 0 is not computed."""

    forward: Weight = 1.0
    latent: Weight = 1.0
    spectral: Weight = 0.05
    inverse_encoding: Weight = 0.01
    query_points: Count | None = None  # decoded points per pair; null = the whole grid


@dataclass(frozen=True)
class OptimizerConfig:
    """Linear warm-up, then a cosine to final_fraction of the learning rate, the same for both optimizers."""

    matrices: Literal["muon", "adamw"] = "muon"  # of the operator's blocks; all else is AdamW's
    learning_rate: Positive = 1.4e-3
    beta1: Decay = 0.9
    beta2: Decay = 0.95
    weight_decay: Weight = 0.03  # none for biases, norms and embeddings
    warmup_updates: CountOrZero = 100
    final_fraction: Decay = 0.01
    clip_norm: Positive | None = None
    ema_decay: Decay = 0.999


@dataclass(frozen=True)
class TrainConfig:
    updates: Count = 1000
    pairs_per_update: Count = 256  # over all ranks and micro-steps
    window_updates: Count = 10  # updates per `steps` event
    timeout_seconds: Positive = 600.0  # of a collective operation


@dataclass(frozen=True)
class EvaluationConfig:
    every_updates: CountOrZero = 0  # 0 = only at the end
    batch_pairs: Count = 256  # per rank; changes memory only


@dataclass(frozen=True)
class SpeedConfig:
    """What two variants of a same-work experiment may differ in: how the work is done, never which work."""

    data_path: Literal["loader", "resident"] = "loader"
    loader_workers: CountOrZero = 2  # per rank; 0 = in the training process
    loader_prefetch: Count = 2  # micro-batches per worker
    accumulation_steps: Count = 1  # micro-steps per update, at equal pairs_per_update
    precision: Literal["fp32", "fp16", "bf16"] = "fp32"
    wrapper: Literal["none", "ddp", "flat", "fsdp2"] = "ddp"  # of several ranks; one rank needs none
    muon: Literal["loop", "batched", "sharded"] = "loop"  # sharded: each rank takes some of the matrices
    compile: Literal["off", "blocks"] = "off"
    fused_adamw: bool = False
    foreach_ema: bool = False


@dataclass(frozen=True)
class RecipeConfig:
    """What only a recipe experiment may change; nothing yet."""


@dataclass(frozen=True)
class Config:
    data: DataConfig = field(default_factory=DataConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    loss: LossConfig = field(default_factory=LossConfig)
    optimizer: OptimizerConfig = field(default_factory=OptimizerConfig)
    train: TrainConfig = field(default_factory=TrainConfig)
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)
    speed: SpeedConfig = field(default_factory=SpeedConfig)
    recipe: RecipeConfig = field(default_factory=RecipeConfig)

    @property
    def reduced_points(self) -> int:
        """Grid points that the model sees."""
        return self.data.advection1d.grid_points // self.data.reduced_resolution

    @property
    def tokens(self) -> int:
        return self.reduced_points // self.model.patch_points

    @property
    def query_points(self) -> int:
        """Points that the losses decode per pair."""
        return self.loss.query_points or self.reduced_points
