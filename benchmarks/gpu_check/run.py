"""Runs every speed switch on one and two GPUs for a few steps: what each does to time, memory and loss.

On four GPUs (--processes 4) it runs all fast paths together, and their references.

python -m benchmarks.gpu_check.run --out DIR
python -m benchmarks.gpu_check.run --show out/records/gpu-check/h200-1gpu.jsonl    needs no GPU

Results go to DIR/gpu-check.jsonl as they come; a case that fails or hangs is recorded and skipped.
DIR must have no results of an earlier call, unless --resume continues it with the same code and settings.
Exits with 1 if a case or a kernel fails its check, and with 2 on bad input.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import torch

from benchmarks.gpu_check.cases import PLAIN, Case, cases, warm_up_updates
from benchmarks.gpu_check.table import table
from benchmarks.gpu_check.verdict import of_old, wrong, wrong_kernels
from benchmarks.harness.ending import end, end_by_exception
from benchmarks.harness.in_words import refused_in_words
from trainer.config import load_config
from trainer.errors import ConfigError
from trainer.process.terminal import answer, say

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
LEAST_UPDATES = 16
AS_IT_MUST_BE = "each case ran as requested, and its numbers are within the limits"
LAST_LINES = 60  # of a worker: some 40 of torchrun's own come behind what a rank said
# So low that a rounding does not grow into a difference that a wrong switch could hide behind: at 1e-3 the
# loss swings in the first updates, and by the 10th two kernels for the same sums were up to 13% apart
# (out/records/gpu-check/losses-at-1e-3.json).
LEARNING_RATE = 1e-4
SMALL_DATA = ["data.advection1d.trajectories=16", "data.darcy2d.trajectories=200"]
TINY = [
    "data.tasks=[advection1d]",
    "data.advection1d.trajectories=12",
    "data.advection1d.frames=6",
    "data.held_out_every_nth_frame=1",
    "data.advection1d.grid_points=32",
    "model.tokens=8",
    "model.hidden_dim=16",
    "model.depth=2",
    "model.heads=2",
    "model.decoder_hidden_dim=16",
    "model.decoder_depth=1",
    "model.decoder_heads=2",
]


def main() -> int:
    options = _options()
    if options.show:
        return _show(options.show)
    end_by_exception()
    wanted = _wanted(options)
    # A case may still not fit into it, which is that case's error.
    load_config(options.config, [f"train.pairs_per_update={options.pairs}", *_settings(options), *PLAIN])
    made_of = _made_of(options)
    try:
        if options.resume:
            _keep_what_ended(options.out, made_of)
        else:
            _require_new(options.out, made_of)
    except OSError as error:
        raise ConfigError(
            f"--out: {options.out} cannot be used ({error.filename or options.out}: {error.strerror}); "
            "name a writable folder"
        ) from error
    deadline = time.monotonic() + options.seconds
    waiting = [case for case in wanted if case.package is None or find_spec(case.package)]
    with_kernels = not options.only and 1 in options.processes and options.shard[0] == 1
    of_kernels = _wrong_kernels(options) if with_kernels else []
    references = {case.against for case in waiting}
    launches = sorted({case.launch for case in waiting})
    for launch in launches:
        if time.monotonic() > deadline:
            break
        of_launch = [case for case in waiting if case.launch == launch]
        remaining = _still_to_run(of_launch, references, options.out)
        while remaining and time.monotonic() < deadline:
            _run_worker(remaining, options, deadline)
            if time.monotonic() < deadline:  # else its last case was cut off, and did not fail
                remaining = _still_to_run(remaining, references, options.out)
    records = _records(options.out)
    answer(_table(records, wanted))
    measured = {record["case"] for record in records if "step_seconds" in record}
    missing = [case.name for case in waiting if case.name not in measured]
    done = len(waiting) - len(missing)
    answer(f"measured {done} of {len(waiting)} cases; not measured: {', '.join(missing) or 'none'}")
    for case in wanted:
        if case not in waiting:
            answer(f"{case.name}: left out, {case.package} is not installed")
    complaints = of_kernels + _complaints(records, wanted)
    answer("\n".join(complaints) or ("" if missing else AS_IT_MUST_BE))
    return 1 if missing or complaints else 0


def _show(recorded: list[Path]) -> int:
    """Print each record's table, and what today's bounds say of it, and in the end which are wrong."""
    wrong_records = []
    for file in recorded:
        as_recorded = _records_of(file, "--show")
        records = [of_old(record) for record in as_recorded]
        of_gpus = cases(next((record["device"] for record in records if "device" in record), "cuda"))
        complaints = _without_result(records, of_gpus) + _complaints(records, of_gpus)
        answer(f"{file}\n{_table(as_recorded, of_gpus)}")
        ended = {record["case"] for record in records if "started" not in record}
        cut_off = dict.fromkeys(record["case"] for record in records if record["case"] not in ended)
        for name in cut_off:
            answer(f"{name}: cut off, and not judged")
        measured = f"of {len(ended)} cases, " if cut_off else ""
        answer("\n".join(complaints) or f"{measured}{AS_IT_MUST_BE}")
        if complaints:
            names = dict.fromkeys(complaint.partition(":")[0] for complaint in complaints)
            wrong_records.append(f"{file}: {', '.join(names)}")
    if len(recorded) > 1:
        found = f", listed above: {'; '.join(wrong_records)}" if wrong_records else ""
        answer(f"\n{len(wrong_records)} of {len(recorded)} records have failures{found}")
    return 1 if wrong_records else 0


def _without_result(records: list[dict], known: list[Case]) -> list[str]:
    """What a record of some cases, and not of others, cannot be judged by."""
    measured = {record["case"] for record in records if "step_seconds" in record}
    names = {case.name for case in known}
    return [
        *(f"{record['case']}: failed" for record in records if "error" in record),
        *(f"{name}: is not a case any more, so it is not judged" for name in measured - names),
        *([] if measured else ["no case has a result"]),
    ]


def _table(records: list[dict], wanted: list[Case]) -> str:
    return table(records, {case.name: case.against for case in wanted if case.against})


def _require_new(out: Path, made_of: dict[str, str | int]) -> None:
    """A record of another call, of other code or settings, would be judged as if it were of this one."""
    out.mkdir(parents=True, exist_ok=True)
    if (out / "gpu-check.jsonl").exists():
        raise ConfigError(
            f"--out: {out} has the records of an earlier call, expected none. Name another folder, "
            "or continue with --resume if code and settings are the same"
        )
    (out / "made-of.json").write_text(json.dumps(made_of, indent=1))


def _keep_what_ended(out: Path, made_of: dict[str, str | int]) -> None:
    """A case that failed or was cut off is measured again; one that is wrong stays so."""
    results, kept_as = out / "gpu-check.jsonl", out / "made-of.json"
    if not results.exists():
        _require_new(out, made_of)
        return
    earlier = _settings_of(kept_as) if kept_as.exists() else {}
    for key, value in made_of.items():
        if earlier.get(key) != value:
            raise ConfigError(
                f"--resume: {out} was measured with another {key}, {earlier.get(key, 'unknown')}, "
                f"now {value}; name another folder"
            )
    records = _records(out)
    kept = [record for record in records if "step_seconds" in record]
    with (out / "failed.jsonl").open("a") as failed:
        failed.writelines(json.dumps(record) + "\n" for record in records if "error" in record)
    partial = results.with_suffix(".partial")
    partial.write_text("".join(json.dumps(record) + "\n" for record in kept))
    partial.replace(results)


def _settings_of(made_of: Path) -> dict[str, str | int]:
    try:
        found = json.loads(made_of.read_bytes())
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ConfigError(f"--resume: {made_of} is damaged; name another folder with --out")
    return found


def _made_of(options: argparse.Namespace) -> dict[str, str | int]:
    """All that two calls must share for their records to be held against each other."""
    files = [*HERE.glob("*.py"), *ROOT.glob("trainer/**/*.py"), options.config]
    code = hashlib.sha256(b"".join(file.read_bytes() for file in sorted(files))).hexdigest()
    on_gpu = options.device == "cuda"
    return {
        "code and config": code,
        "torch": torch.__version__,
        "device": torch.cuda.get_device_name() if on_gpu else "CPU",
        "--updates": options.updates,
        "--pairs": options.pairs,
        "--data": str(options.data.resolve()),
    }


def _complaints(records: list[dict], wanted: list[Case]) -> list[str]:
    """What is wrong with the cases that ended, named."""
    by_name = {case.name: case for case in wanted}
    ended = {r["case"]: r for r in records if r["case"] in by_name and "step_seconds" in r}
    return [
        f"{name}: {text}"
        for name, record in ended.items()
        for text in wrong(record, by_name[name], ended.get(by_name[name].against))
    ]


def _wanted(options: argparse.Namespace) -> list[Case]:
    all_cases = cases(options.device)
    possible = [case for case in all_cases if case.processes in options.processes]
    names = [case.name for case in possible]
    for name in options.only:
        if name not in names:
            raise ConfigError(
                f"--only: no case is called {name} on {options.device} with {options.processes} processes; "
                f"cases: {', '.join(names)}"
            )
    for case in possible:
        if case.name in options.only and case.package and not find_spec(case.package):
            raise ConfigError(f"--only: {case.name} needs {case.package}, which is not installed")
    asked = set(options.only or (case.name for case in _of_shard(possible, *options.shard)))
    for case in reversed(all_cases):  # what a case is compared with comes before it
        if case.name in asked and case.against:
            asked.add(case.against)
    return [case for case in all_cases if case.name in asked]


def _of_shard(possible: list[Case], number: int, count: int) -> list[Case]:
    """Return every COUNTth case from the NUMBERth on; of several shards the last has those that take long.

    A case is resumed where it was measured, which needs its checkpoint and what was compiled for it.
    """
    long = [case for case in possible if case.seconds > Case.seconds]
    if long and number == count > 1:
        return long
    if long and count > 1:
        count -= 1
        possible = [case for case in possible if case not in long]
    firsts = [case for case in possible if not case.resumes][number - 1 :: count]
    names = {case.name for case in firsts}
    return [case for case in possible if (case.against if case.resumes else case.name) in names]


def _run_worker(remaining: list[Case], options: argparse.Namespace, deadline: float) -> None:
    """Start ranks for the remaining cases; end them where a case takes too long."""
    processes = remaining[0].processes
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(processes)]
    command = [
        sys.executable,
        *(launcher if processes > 1 else []),
        *("-m", "benchmarks.gpu_check.worker"),
        *("--config", str(options.config), "--out", str(options.out), "--device", options.device),
        *("--pairs", str(options.pairs)),
        *("--cases", *(case.name for case in remaining)),
        *(part for override in _settings(options) for part in ("--set", override)),
    ]
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    if options.device == "cpu":
        environment |= {"CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    log_path = options.out / f"worker-{processes}.log"
    with log_path.open("ab") as log:
        earlier_bytes = log.tell()
        worker = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        try:
            reason = _watch(worker, options, deadline, max(case.seconds for case in remaining))
        finally:
            end(worker)
    said = log_path.read_bytes()[earlier_bytes:].decode(errors="replace").splitlines()[-LAST_LINES:]
    _record_the_unfinished(options.out, remaining, reason, said)


def _settings(options: argparse.Namespace) -> list[str]:
    """Those of all cases; the last of two counts."""
    return [
        *(f"train.updates={options.updates}", f"train.window_updates={options.updates}"),
        f"train.checkpoint_every_updates={options.updates // 2}",
        *(f"optimizer.warmup_updates={warm_up_updates(options.updates)}", f"data.root={options.data}"),
        f"optimizer.learning_rate={LEARNING_RATE}",
        *(TINY if options.device == "cpu" else SMALL_DATA),
        *options.set,
    ]


def _watch(worker: subprocess.Popen, options: argparse.Namespace, deadline: float, seconds: float) -> str:
    """Return why it is over: the worker has ended, nothing new came for some seconds, or time is up."""
    results, last_size, last_change = options.out / "gpu-check.jsonl", -1, time.monotonic()
    while worker.poll() is None:
        if time.monotonic() >= deadline:
            return "cut off by --seconds"
        size = results.stat().st_size if results.exists() else 0
        if size != last_size:
            last_size, last_change = size, time.monotonic()
            _print_progress(options.out)
        if time.monotonic() - last_change > seconds:
            return f"nothing new for {seconds:g} s, so it was ended"
        time.sleep(0.2)
    return f"ended with exit code {worker.returncode}"


def _print_progress(out: Path) -> None:
    finished = [record for record in _records(out) if "started" not in record]
    if finished and finished[-1]["case"] not in _printed:
        _printed.add(finished[-1]["case"])
        record = finished[-1]
        said = record.get("error") or f"{record['step_seconds'] * 1e3:.2f} ms a step"
        answer(f"{record['case']}: {said[:200]}")


_printed: set[str] = set()


def _record_the_unfinished(out: Path, remaining: list[Case], reason: str, said: list[str]) -> None:
    """The case that was started last and left nothing, or the first where none was started, has failed.

    `said`: the last lines of the worker, which has left no reason of its own then.
    """
    records = _records(out)
    names = [case.name for case in remaining]
    done = {record["case"] for record in records if "started" not in record}
    started = [record["case"] for record in records if "started" in record and record["case"] in names]
    failed = started[-1] if started else names[0]
    if failed not in done:
        _record_a_failure(out, failed, f"no result: {reason}", last_lines=said)
        say("\n".join([f"{failed}: no result: {reason}; the worker's last lines:", *said]))


def _record_a_failure(out: Path, case: str, error: str, **more: object) -> None:
    with (out / "gpu-check.jsonl").open("a") as file:
        file.write(json.dumps({"case": case, "error": error, **more}) + "\n")


def _still_to_run(remaining: list[Case], references: set[str | None], out: Path) -> list[Case]:
    """Those without a record; one whose reference failed gets one too, unless it is among the references."""
    ended = {record["case"]: "error" in record for record in _records(out) if "started" not in record}
    waiting = []
    for case in remaining:
        if case.name in ended:
            continue
        if ended.get(case.against) and case.name not in references:
            reason = f"not run: {case.against}, which it is compared with, has failed"
            _record_a_failure(out, case.name, reason)
            answer(f"{case.name}: {reason}")
        else:
            waiting.append(case)
    return waiting


def _records(out: Path) -> list[dict]:
    path = out / "gpu-check.jsonl"
    return _records_of(path, "--out") if path.exists() else []


def _records_of(file: Path, option: str) -> list[dict]:
    lines = file.read_bytes().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith(b"\n")]  # the last may be half written
    return [_record(line, f"line {number} of {file}", option) for number, line in enumerate(whole, start=1)]


def _record(line: bytes, place: str, option: str) -> dict:
    try:
        found = json.loads(line)
    except ValueError:
        found = None
    if not isinstance(found, dict) or "case" not in found:
        raise ConfigError(f"{option}: {place} is not a record of a case; delete it, or name another one")
    return found


def _wrong_kernels(options: argparse.Namespace) -> list[str]:
    """Return what is wrong with our kernels against float64, at the model's sizes, or why that is unknown."""
    if options.device == "cpu":
        return []
    found = []
    for dtype in ("bfloat16", "float16", "float32"):
        command = [sys.executable, "-m", "benchmarks.gpu_check.kernel_errors", dtype]
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        try:
            done = subprocess.run(
                command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120
            )
            said = done.stdout.strip() if done.returncode == 0 else done.stderr.strip()[-600:]
            found += (
                wrong_kernels(json.loads(done.stdout), dtype)
                if done.returncode == 0
                else [f"{dtype}: {said}"]
            )
        except (subprocess.TimeoutExpired, ValueError) as error:
            said = f"{dtype}: {error}"
            found.append(said)
        answer(f"errors of our kernels, {dtype}: {said}")
    return found


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise argparse.ArgumentTypeError(
            f"got {text}, expected NUMBER/COUNT such as 1/4 for the first of four"
        )
    return int(number), int(count)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"got {text}, expected a number of seconds more than 0")
    return seconds


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    either = parser.add_mutually_exclusive_group(required=True)
    either.add_argument("--out", type=Path, help="folder for results and logs")
    either.add_argument(
        "--show",
        type=Path,
        nargs="+",
        metavar="JSONL",
        help="print the table and the verdict of recorded results without running anything",
    )
    parser.add_argument(
        "--resume",
        action="store_true",
        help="keep the results in --out of an earlier call with the same code and settings",
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        default=5400,
        help="time limit for all cases; cases that do not fit are not run",
    )
    parser.add_argument(
        "--device", choices=["cuda", "cpu"], default="cuda", help="cpu uses tiny sizes, to try the script"
    )
    parser.add_argument("--processes", type=int, nargs="+", choices=[1, 2, 4], default=[1, 2])
    parser.add_argument(
        "--updates",
        type=int,
        default=24,
        help=f"updates of each case, a multiple of 4 and at least {LEAST_UPDATES} (default 24)",
    )
    parser.add_argument("--pairs", type=int, help="pairs per update and process (default 384, on the CPU 96)")
    parser.add_argument("--config", type=Path, default=ROOT / "configs/train/two-task-1gpu-baseline.yaml")
    parser.add_argument("--data", type=Path, default=ROOT / "data")
    parser.add_argument(
        "--only",
        nargs="+",
        default=[],
        metavar="CASE",
        help="run only these cases and their references; skips the errors of our kernels",
    )
    parser.add_argument(
        "--shard",
        type=_shard,
        default=(1, 1),
        metavar="NUMBER/COUNT",
        help="run one share of the cases, such as 1/3; run the other shares on other GPUs in parallel",
    )
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    for file in options.show or []:
        if not file.is_file():
            parser.error(
                f"--show: {file} is not a file; name a gpu-check.jsonl from the --out of an earlier call. "
                "To unpack recorded ones, run npm run records first"
            )
    if options.show:
        return options
    if options.device == "cuda" and not torch.cuda.is_available():
        parser.error("--device: got cuda, but torch sees no GPU; use --device cpu to try the script")
    if options.only and options.shard != (1, 1):
        parser.error("--shard: splits all cases and cannot be combined with --only; leave one of them out")
    if options.updates < LEAST_UPDATES or options.updates % 4:
        parser.error(
            f"--updates: got {options.updates}, expected a multiple of 4 and at least {LEAST_UPDATES}"
        )
    if options.pairs is not None and options.pairs < 1:
        parser.error(f"--pairs: got {options.pairs}, expected a whole number at least 1")
    if not options.config.is_file():
        parser.error(f"--config: {options.config} is not a file; name a config of the trainer")
    options.pairs = options.pairs or (384 if options.device == "cuda" else 96)
    return options


if __name__ == "__main__":
    with refused_in_words():
        sys.exit(main())
