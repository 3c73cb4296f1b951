"""The commands of `python -m trainer`; torch is imported only by those that need it."""

import argparse
import contextlib
import gc
import json
import math
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from trainer.config import load_config, to_plain
from trainer.config.rules import require_world_fits
from trainer.errors import CannotWrite, ConfigError, Diverged
from trainer.process.exit import BAD_INPUT, FAILED, INTERRUPTED, UNREAD, end_at_once
from trainer.process.prefetch import open_driver
from trainer.process.ranks import is_first_rank, rank_from_environment
from trainer.process.terminal import answer, leave_unread, say

LARGEST_SEED = 2**53 - 1  # that every reader of metrics.jsonl tells from the next


def main(arguments: Sequence[str]) -> int:
    """Run one command; return its exit code: 0 done, 1 failed, 2 bad input, 130 interrupted, 141 unread."""
    options = _parser().parse_args(arguments)
    try:
        code = options.command(options)
        if sys.stdout:
            sys.stdout.flush()  # here, not at exit, where nothing can be caught
        return code
    except BrokenPipeError:
        if not leave_unread():  # but another pipe broke
            raise
        return UNREAD
    except KeyboardInterrupt as interruption:
        say(f"interrupted{interruption}")
        end_at_once(INTERRUPTED)
    except ConfigError as error:
        say("\n".join(error.problems))  # in one write: other ranks write too
        return BAD_INPUT
    except (CannotWrite, Diverged) as error:
        say(str(error))
        end_at_once(FAILED)


def train(options: argparse.Namespace) -> int:
    config = load_config(options.config, options.set)
    open_driver(rank_from_environment()[2])
    with _uncollected():
        from trainer.run.entry import train_one_rank  # torch, while the driver opens

    return train_one_rank(config, options.out, options.seed, resume=options.resume)


@contextlib.contextmanager
def _uncollected() -> Iterator[None]:
    """For imports, which leave no garbage: not looked for meanwhile, nor among what they made ever after."""
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # in a process that trains again, the rest is the garbage of before
            gc.freeze()
        gc.enable()


def validate_config(options: argparse.Namespace) -> int:
    resolved = to_plain(load_config(options.config, options.set))
    if is_first_rank():
        answer(json.dumps(resolved, indent=None if options.json else 2))
    return 0


def generate_data(options: argparse.Namespace) -> int:
    from trainer.data.splits import open_data

    data = open_data(load_config(options.config, options.set))  # as a training opens it, or refuses it
    if is_first_rank():
        for task in data.train.tasks:
            for file in task.files:
                answer(str(file.path))
    return 0


def evaluate(options: argparse.Namespace) -> int:
    from trainer.run.evaluation.command import as_text, evaluate_checkpoint, evaluate_runs

    if options.checkpoint is not None and options.out is not None:
        raise ConfigError("--out: works with --run only; --checkpoint prints its results. Remove --out")
    if options.run is not None:
        if options.out is None:
            raise ConfigError("--out: missing, expected with --run; name the file for the results")
        evaluate_runs(options.run, options.out, options.data_root)
        return 0
    found = evaluate_checkpoint(options.checkpoint, options.data_root)
    if is_first_rank():
        answer(as_text(found, as_json=options.json))
    return 0


def check_sampling(options: argparse.Namespace) -> int:
    from trainer.data.batches.balance import as_text, is_balanced, sampling_balance
    from trainer.data.splits import open_data

    config = load_config(options.config, options.set)
    require_world_fits(config, options.ranks)
    train = open_data(config).train
    schedule = train.schedule(
        config.train.pairs_per_update, options.seed, config.train.rest, config.cut.cut_into
    )
    micro_steps = config.speed.accumulation_steps
    balance = sampling_balance(train, schedule, config.cut.steps, micro_steps, options.ranks)
    if is_first_rank():
        answer(as_text(balance))
    return 0 if is_balanced(balance) else 1


def profile(options: argparse.Namespace) -> int:
    from trainer.profiling.profile import profile

    return profile(load_config(options.config, options.set), options.out, options.seed, options.steps)


def tune_batch(options: argparse.Namespace) -> int:
    from trainer.profiling.tune_batch import tune_batch

    return tune_batch(load_config(options.config, options.set), options.memory_fraction)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m trainer",
        description=sys.modules["trainer"].__doc__,
        epilog="Run COMMAND --help to see the options of a command. "
        "Exit codes: 0 done, 1 failed, 2 bad input, 130 Ctrl-C, 141 output pipe closed. "
        "trainer/contracts/sections.py lists every setting of a config with its range and default. "
        "Settings of data are in trainer/config/schema.py and trainer/data/tasks/.",
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    command = _add(
        commands, "train", train, "Train as one rank under torchrun, otherwise as a single process."
    )
    command.add_argument(
        "--out",
        type=_path,
        required=True,
        help="folder for metrics.jsonl and checkpoint.pt; files of a previous run move to earlier/ in it",
    )
    command.add_argument(
        "--seed", type=_seed, required=True, help="seed for weights, batches, masks and query points"
    )
    command.add_argument(
        "--resume", action="store_true", help="continue the run in --out from its last checkpoint"
    )

    command = _add(
        commands, "validate-config", validate_config, "Print the config with all defaults filled in."
    )
    command.add_argument("--json", action="store_true", help="print JSON on one line")

    command = _add(
        commands, "profile", profile, "Measure where rank 0 spends the time, memory and work of a step."
    )
    command.add_argument(
        "--out", type=_path, required=True, help="folder for profile.json and a Chrome trace per rank"
    )
    command.add_argument("--seed", type=_seed, default=0, help="seed of the training (default 0)")
    command.add_argument(
        "--steps",
        type=_positive,
        default=10,
        help="steps to time as a whole; as many more are timed part by part (default 10)",
    )

    command = _add(
        commands,
        "tune-batch",
        tune_batch,
        "Find the largest number of pairs per micro-step that fits into the memory of one GPU.",
    )
    command.add_argument(
        "--memory-fraction",
        type=_fraction,
        default=0.9,
        help="share of the GPU's memory that may be used (default 0.9)",
    )

    _add(
        commands,
        "generate-data",
        generate_data,
        "Generate the missing data files of a config, and check all of them.",
    )

    command = _add(
        commands,
        "check-sampling",
        check_sampling,
        "Count the pairs of each task and file per rank; exit with 1 if the ranks are unbalanced.",
    )
    command.add_argument("--ranks", type=_positive, default=1, help="number of processes (default 1)")
    command.add_argument("--seed", type=_seed, default=0, help="seed of the training (default 0)")

    summary = (
        "Print the held-out errors of a checkpoint, or write those of several runs into one file. "
        "With several GPUs, runs are evaluated in parallel."
    )
    command = commands.add_parser("evaluate", help=summary, description=summary)
    command.set_defaults(command=evaluate)
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("--checkpoint", type=Path, help="checkpoint.pt of a run")
    source.add_argument(
        "--run", type=Path, nargs="+", action="extend", help="folders that runs of train wrote as --out"
    )
    command.add_argument(
        "--out",
        type=_path,
        help="with --run: file for the results, one JSON line per run; an existing file is replaced",
    )
    command.add_argument("--data-root", help="folder of the data, if the data have moved")
    command.add_argument("--json", action="store_true", help="print JSON on one line")
    return parser


def _path(text: str) -> Path:
    if not text:  # Path("") is the current folder
        raise argparse.ArgumentTypeError('got "", expected a path')
    return Path(text)


def _seed(text: str) -> int:
    if not text.isdecimal() or int(text) > LARGEST_SEED:
        raise argparse.ArgumentTypeError(f'got "{text}", expected a whole number from 0 to {LARGEST_SEED}')
    return int(text)


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f'got "{text}", expected a whole number at least 1')
    return int(text)


def _fraction(text: str) -> float:
    try:
        fraction = float(text)
    except ValueError:
        fraction = math.nan
    if not 0 < fraction <= 1:
        raise argparse.ArgumentTypeError(f'got "{text}", expected a number more than 0 and at most 1')
    return fraction


def _add(commands: argparse._SubParsersAction, name: str, function, summary: str) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=summary, description=summary)
    command.set_defaults(command=function)
    command.add_argument("--config", type=Path, required=True, help="YAML or JSON file")
    command.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="override a setting of the config, such as --set train.updates=200",
    )
    return command
