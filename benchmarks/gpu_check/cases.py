"""What the GPU check runs: one case per switch, the most valuable first."""

from __future__ import annotations

from dataclasses import dataclass, replace

# Eager and plain, on what every case shares: same pairs, same losses, same seed.
PLAIN = (
    "speed.data_path=resident",
    "speed.precision=bf16",
    "speed.muon=batched",
    "speed.accumulation_steps=1",
)
GRAPH = "speed.cuda_graph=true"
BLOCKS = "speed.compile=blocks"
HOIST = "speed.hoist_fixed_grid=true"
JOINT = "speed.joint_decode=true"
FP8 = "speed.fp8_products=true"
FP32 = "speed.precision=fp32"
FP16 = "speed.precision=fp16"
FLAT = "speed.wrapper=flat"
THREE = "speed.accumulation_steps=3"
EVERY = "speed.reduce_gradients=every-micro-step"
LOADER = ("speed.data_path=loader", "speed.loader_workers=8")
PLAN_NCCL = "speed.nccl=[NCCL_NSOCKS_PERTHREAD=4, NCCL_SOCKET_NTHREADS=2, NCCL_MIN_NCHANNELS=4]"
FUSED = "speed.fused_pointwise=true"
CROSS = "speed.cross_attention=one-tile"
MODEL = "speed.compile=model"
KERNELS = (
    *(GRAPH, HOIST, FUSED, CROSS),
    *("speed.attention=one-tile", "speed.fused_adamw=true", "speed.foreach_ema=true"),
)
FAST = (MODEL, *KERNELS)
SHARDED = "speed.muon=sharded"


@dataclass(frozen=True)
class Tolerance:
    """How far a case may be from the one that it should repeat.

    losses: relative, of each update; where updates may be skipped, during which losses stand still, of the
    first and of the mean of the last four. weights: theirs and their averages' distance, as a share of how
    far the other's came from their start, so that 1 is what weights have that stood still. gradients: of the
    first update, relative, of all together and by their norm; gradient: of the tensor that is furthest off,
    1 where it has none or twice of it; norms: of all later ones, None where they swing too much to tell.
    """

    losses: float
    weights: float
    gradients: float
    gradient: float
    norms: float | None
    skipped_updates: int = 0


# At least 1.8 times what the recorded checks show, but for FP8's losses, 1.6, and gradients, 1.2 times;
# benchmarks/records/gpu-check/README.md has both beside each other.
ROUNDING = Tolerance(losses=0.01, weights=0.2, gradients=0.01, gradient=0.1, norms=0.25)  # of bf16
# The same gradients, of which other arithmetic makes the update, or other kernels in later ones.
STEPPED = replace(ROUNDING, gradients=1e-6, gradient=1e-6)
# The same at other addresses or in parts, so that their norm, to which they are clipped, may round otherwise.
REORDERED = Tolerance(losses=2.5e-4, weights=0.05, gradients=1e-6, gradient=1e-6, norms=0.04)
# Of fp32.
FLOAT = Tolerance(losses=1e-4, weights=0.02, gradients=1e-6, gradient=5e-6, norms=0.005)
# bf16 beside fp32.
HALVED = Tolerance(losses=0.01, weights=0.2, gradients=0.02, gradient=0.1, norms=0.1)
# FP8 beside bf16: 3 bits of mantissa, and 2 in gradients, in place of 7.
EIGHT_BITS = Tolerance(losses=0.03, weights=0.5, gradients=0.1, gradient=0.4, norms=None)
# Of its forms: a value between two of FP8 may become the other.
RECOMPILED = Tolerance(losses=0.02, weights=0.2, gradients=0.02, gradient=0.1, norms=0.4)
# Until fp16's scaler has come down from 2^16, after 1 update, at higher learning rates 5.
SKIPPING = Tolerance(losses=0.02, weights=0.3, gradients=0.02, gradient=0.1, norms=None, skipped_updates=4)
# The same kernels on the same numbers.
SAME = Tolerance(losses=0, weights=0, gradients=0, gradient=0, norms=0)


@dataclass(frozen=True)
class Case:
    """Overrides over PLAIN; `against` names the case whose losses it should repeat."""

    name: str
    overrides: tuple[str, ...] = ()
    processes: int = 1
    against: str | None = "plain"
    package: str | None = None  # to be installed for it
    tolerance: Tolerance = ROUNDING
    waits: int = 0  # of the host for the GPU in an update, as it must
    shares: int | None = None  # of pairs in an update; else as many as processes
    seconds: float = 300  # it has ended by then or hangs
    resumes: bool = False  # goes on, in new processes, from the checkpoint that `against` leaves half-way

    @property
    def launch(self) -> tuple[bool, int, bool, bool]:
        """Cases of equal value can share processes, the long ones last; NCCL reads its environment once."""
        sets_nccl = any(override.startswith("speed.nccl=") for override in self.overrides)
        return self.seconds > Case.seconds, self.processes, self.resumes, sets_nccl

    @property
    def has_other_kernels(self) -> bool:
        """Whether it computes what `against` does in another way, so that something must differ."""
        return self.tolerance != SAME and any(word in text for word in _KERNELS for text in self.overrides)

    @property
    def saves_memory(self) -> bool:
        return any("checkpoint" in override for override in self.overrides)


def warm_up_updates(updates: int) -> int:
    """Of a case of so many updates."""
    return min(5, updates // 2)


def cases(device: str) -> list[Case]:
    """Return all cases of a device, those on one process first."""
    on_two = [
        replace(case, name=f"ddp-{case.name}", processes=2, against="ddp")
        for case in (*_ONE, *_ONE_LATER, *_LAST)
        if case.name in ON_TWO_AS_WELL
    ]
    parts = [case for case in _RECIPE if case.against is None and case.name != "recipe"]
    recipes = [replace(case, name=f"ddp-{case.name}", processes=2) for case in parts]
    everywhere = [*_ONE, *_ONE_LATER, *_RECIPE, *_TWO, *on_two, *recipes, *_FOUR, *_WHOLE, *_RESUMED, *_LAST]
    return [case for case in everywhere if device == "cuda" or not _needs_gpu(case)]


# Other work, so that only what does the same can repeat it: of the recipe configs, and of each key that
# changes a step's work, which schedule_updates does not.
CUT = "recipe.batch_cut_into=4"
QUARTER = "recipe.inverse_every_nth_pair=4"
RECIPE = (QUARTER, CUT)
FEW = "recipe.query_points=256"
FAST_RECIPE = (*KERNELS, JOINT, *RECIPE, FEW)
# As the recipe configs, whose model is an average, and whose rate is lowest before the end.
AVERAGED = ("recipe.average_updates=6", "recipe.schedule_updates=12")

_ONE = [
    Case("plain-fp32", (FP32,), against=None),
    Case("plain", against="plain-fp32", tolerance=HALVED),
    Case("cuda-graph", (GRAPH,), tolerance=STEPPED),
    Case("compile-blocks", (BLOCKS,)),
    Case("one-tile", ("speed.attention=one-tile",)),
    Case("fast", FAST),
    Case("fast-blocks", (*FAST, BLOCKS, "speed.fused_pointwise=false")),
    Case("fused-pointwise", (FUSED,)),
    Case("cross-attention", (CROSS,)),
    Case("fused-pointwise-fp32", (FUSED, FP32), against="plain-fp32", tolerance=FLOAT),
    Case("cuda-graph-fp32", (GRAPH, FP32), against="plain-fp32", tolerance=FLOAT),
    Case("compile-blocks-fp32", (BLOCKS, FP32), against="plain-fp32", tolerance=FLOAT),
    # Of bf16 an update may be wrong by a third and stay within its rounding.
    Case("fused-adamw-fp32", ("speed.fused_adamw=true", FP32), against="plain-fp32", tolerance=FLOAT),
    Case("muon-loop-fp32", ("speed.muon=loop", FP32), against="plain-fp32", tolerance=FLOAT),
    Case(
        "offload-adamw-fp32",
        ("speed.offload_adamw=true", FP32),
        against="plain-fp32",
        tolerance=FLOAT,
        waits=1,
    ),
    Case(
        "baseline",
        (
            "speed.data_path=loader",
            FP16,
            "speed.muon=loop",
            "speed.loader_workers=8",
            "speed.accumulation_steps=3",
        ),
        tolerance=SKIPPING,
        waits=1,
    ),
    Case("graph-compile-blocks", (BLOCKS, GRAPH)),
    Case("compile-model", (MODEL,)),
    Case("graph-compile-model", (MODEL, GRAPH)),
    Case("graph-accumulation-3", (GRAPH, THREE)),
    Case("plain-of-two", against=None, shares=2),
    Case("recipe-of-two", RECIPE, against=None, shares=2),
]

ANY_POINTS = ("loss.spectral=0", "loss.conservation=0", "loss.boundary=0")
EVERY_4TH = "recipe.inverse_every=4"
_RECIPE = [
    Case("inverse-every-4", (EVERY_4TH,), against=None),
    Case("graph-inverse-every-4", (GRAPH, EVERY_4TH), against="inverse-every-4", tolerance=STEPPED),
    Case("recipe", RECIPE, against=None),
    Case("graph-kernels-recipe", (*KERNELS, *RECIPE), against="recipe"),
    Case("graph-kernels-joint-recipe", (*KERNELS, JOINT, *RECIPE), against="recipe"),
    Case("inverse-quarter", (QUARTER,), against=None),
    Case("priors-every-4", ("recipe.priors_every=4",), against=None),
    Case("exploration-8", ("recipe.exploration_updates=8",), against=None),
    Case("queries-256", (FEW,), against=None),
    Case("queries-stratified", ("recipe.query_strategy=stratified", *ANY_POINTS), against=None),
    Case("task-shares", ("recipe.task_shares=[3, 1]",), against=None),
    Case("batch-cut", (CUT,), against=None),
    Case("graph-batch-cut", (GRAPH, CUT), against="batch-cut", tolerance=STEPPED),
]

_TWO = [
    Case("ddp", processes=2, against="plain-of-two"),
    Case("ddp-accumulation-3", (THREE,), processes=2, against="ddp"),
    Case("ddp-reduced-every-micro-step", (THREE, EVERY), processes=2, against="ddp"),
    Case("flat", (FLAT,), processes=2, against="ddp", tolerance=REORDERED),
    Case("flat-graph", (FLAT, GRAPH), processes=2, against="ddp", tolerance=STEPPED),
    Case("flat-fast", (FLAT, *FAST), processes=2, against="ddp"),
    Case("flat-muon-sharded", (FLAT, SHARDED), processes=2, against="ddp", tolerance=REORDERED),
    Case("flat-fast-muon-sharded", (FLAT, *FAST, SHARDED), processes=2, against="ddp"),
    Case("ddp-recipe", RECIPE, processes=2, against="recipe-of-two"),
    Case("flat-kernels-recipe", (FLAT, SHARDED, *KERNELS, *RECIPE), processes=2, against="ddp-recipe"),
    Case("flat-nccl", (FLAT, PLAN_NCCL), processes=2, against="ddp", tolerance=REORDERED),
    Case("fsdp2", ("speed.wrapper=fsdp2",), processes=2, against="ddp", tolerance=REORDERED),
    Case("ddp-compile-blocks", (BLOCKS,), processes=2, against="ddp"),
    Case(
        "ddp-fp16",
        (FP16,),
        processes=2,
        against="ddp",
        tolerance=SKIPPING,
        waits=1,
    ),
    Case(
        "flat-fast-muon-sharded-fp16",
        (FLAT, *FAST, SHARDED, FP16),
        processes=2,
        against="ddp-fp16",
        tolerance=SKIPPING,
    ),
    Case("fsdp2-fp8", ("speed.wrapper=fsdp2", FP8), processes=2, against="ddp", tolerance=EIGHT_BITS),
]

_ONE_LATER = [
    Case("fused-adamw", ("speed.fused_adamw=true",), tolerance=STEPPED),
    Case("foreach-ema", ("speed.foreach_ema=true",), tolerance=SAME),
    Case("offload-adamw", ("speed.offload_adamw=true",), waits=1, tolerance=STEPPED),
    Case("attention-flash3", ("speed.attention=flash3",), package="flash_attn_interface"),
    Case("muon-loop", ("speed.muon=loop",), tolerance=STEPPED),
    Case("fp16", (FP16,), tolerance=SKIPPING, waits=1),
    Case("cuda-graph-fp16", (GRAPH, FP16, "speed.fused_adamw=true"), against="fp16", tolerance=SKIPPING),
    Case("fast-fp16", (*FAST, FP16), against="fp16", tolerance=SKIPPING),
    Case("fp8-products", (FP8,), tolerance=EIGHT_BITS),
    Case("fp8-products-graph", (FP8, GRAPH), against="fp8-products", tolerance=RECOMPILED),
    Case(
        "fp8-products-selective",
        (FP8, "speed.activation_checkpointing=selective"),
        against="fp8-products",
        tolerance=SAME,
    ),
    Case("fp8-products-compiled", (FP8, BLOCKS), against="fp8-products", tolerance=RECOMPILED),
    Case("trace", ("speed.trace_updates=3",), tolerance=SAME),
    Case("loader", LOADER, tolerance=SAME),
    Case("metric-reads", ("speed.metric_reads=update",), tolerance=SAME, waits=2),
    Case("hoist-fixed-grid", (HOIST,)),
    Case("joint-decode", (JOINT,)),
    Case("cudnn-autotune", ("speed.cudnn_autotune=true",), tolerance=SAME),
    Case("memory-cleanup", ("speed.memory_cleanup_updates=4",), tolerance=SAME),
    Case("loader-not-pinned", (*LOADER, "speed.loader_pinned=false"), tolerance=SAME),
    Case("attention-math", ("speed.attention=math",)),
    Case("attention-efficient", ("speed.attention=efficient",)),
    Case("attention-flash", ("speed.attention=flash",)),
    Case("attention-cudnn", ("speed.attention=cudnn",), tolerance=SAME),  # which `auto` takes
    Case("attention-flex", (BLOCKS, "speed.attention=flex")),
    Case("checkpointing-all", ("speed.activation_checkpointing=all",), tolerance=SAME),
    Case("checkpointing-every-other", ("speed.activation_checkpointing=every-other",), tolerance=SAME),
    Case("checkpointing-selective", ("speed.activation_checkpointing=selective",), tolerance=SAME),
    Case("checkpointing-selective-compiled", (BLOCKS, "speed.activation_checkpointing=selective")),
    Case("checkpointing-encoder-decoder", ("speed.checkpoint_encoder_decoder=true",), tolerance=SAME),
]

# Two ranks' gradients add up in one order alone; of four, their place in a buffer decides it.
_FOUR = [
    Case("plain-of-four", ("speed.accumulation_steps=4",), against=None, shares=4),
    Case("ddp-4gpu", processes=4, against="plain-of-four"),
    Case("flat-muon-sharded-4gpu", (FLAT, SHARDED), processes=4, against="ddp-4gpu"),
]

# All fast paths of the two-task configs at once. `fast` and its like are compared with plain cases; that
# those of one and two GPUs are not keeps short what has to run before they are resumed.
_WHOLE = [
    case
    for processes, sharded, against in ((1, (), None), (2, (SHARDED,), None), (4, (SHARDED,), "ddp-4gpu"))
    for case in (
        Case(f"recipe-{processes}gpu", (FLAT, *sharded, *FAST_RECIPE, *AVERAGED), processes, None),
        Case(f"optimized-{processes}gpu", (FLAT, *sharded, *FAST), processes, against),
    )
]

# Plain ones as well: where these part, it is not by a fast path.
RESUMED_AS_WELL = {"plain", "flat-muon-sharded", "flat-muon-sharded-4gpu"}
_RESUMED = [
    replace(case, name=f"{case.name}-resumed", against=case.name, tolerance=SAME, resumes=True)
    for case in (*_ONE, *_TWO, *_FOUR, *_WHOLE)
    if case.name in RESUMED_AS_WELL or case in _WHOLE
]

_LAST = [
    Case("compile-reduce-overhead", (BLOCKS, "speed.compile_mode=reduce-overhead")),
    Case("compile-max-autotune", (BLOCKS, "speed.compile_mode=max-autotune-no-cudagraphs"), seconds=1500),
]

# A value of each further switch, behind DDP.
ON_TWO_AS_WELL = {
    *("one-tile", "cross-attention", "fused-pointwise", "hoist-fixed-grid", "muon-loop", "fused-adamw"),
    "joint-decode",
    *("foreach-ema", "offload-adamw", "loader", "loader-not-pinned", "metric-reads", "cudnn-autotune"),
    *("memory-cleanup", "trace", "checkpointing-selective", "checkpointing-encoder-decoder"),
    *("compile-model", "compile-reduce-overhead"),
}

_KERNELS = (
    *("attention=", "fused_pointwise=true", "compile=", "fp8_products", "precision=fp16"),
    *("muon=loop", "fused_adamw", "offload_adamw", "hoist_fixed_grid", "joint_decode"),
)

_GPU_ONLY = (
    "cuda_graph",
    "one-tile",
    "flash3",
    "efficient",
    "cudnn",
    "cross_attention",
    "flex",
    "reduce-overhead",
    "fused_pointwise",
    "max-autotune",
    "task_shares",  # the model on a CPU has one task
)


def _needs_gpu(case: Case) -> bool:
    return any(word in override for word in _GPU_ONLY for override in case.overrides)
