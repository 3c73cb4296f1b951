"""The recorder in a loop of one's own."""

import json
import time
from pathlib import Path

import pytest
import torch
from recorded import events_of, reason_of, recorded, run_recorded, step_counts
from speedproof import Recorder
from speedproof.run import process_recorder
from speedproof.run.metrics_file import MetricsFile, write_reason


def trained(folder: Path, steps: int, evaluate_at: tuple[int, ...] = ()) -> list[dict]:
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    with Recorder(folder) as recorder:
        recorder.start(
            model=model,
            optimizer=optimizer,
            config={"lr": 0.1},
            seed=5,
            data_hash="d",
            evaluation_samples=8,
            effective={"points": 3},
            work_keys=["points"],
        )
        for step in range(1, steps + 1):
            loss = model(torch.ones(4, 3)).pow(2).mean()
            loss.backward()
            optimizer.step()
            recorder.step(4, loss, learning_rate=0.1)
            if step in evaluate_at:
                time.sleep(0.05)
                recorder.evaluate(loss.detach(), accuracy=0.5, broken=float("nan"))
    return events_of(folder)


def test_writes_the_contract(tmp_path: Path) -> None:
    events = trained(tmp_path, 45, (10, 20, 45))
    assert step_counts(events) == (45, 0)
    start = events[0]
    assert start["config"] == {"lr": 0.1}
    assert (start["seed"], start["parameter_count"], start["world_size"]) == (5, 4, 1)
    assert start["effective"]["optimizer"] == "SGD"
    assert start["effective"]["points"] == 3
    evaluations = [event for event in events if event["event"] == "evaluation"]
    assert [(event["step"], event["samples_seen"]) for event in evaluations] == [
        (10, 40),
        (20, 80),
        (45, 180),
    ]
    assert evaluations[0]["metrics"] == {"accuracy": 0.5}
    assert evaluations[0]["not_finite"] == ["broken"]
    assert all(event["seconds"] >= 0.05 for event in evaluations)
    assert events[-1]["samples"] == 180


def test_windows_stand_before_their_evaluation(tmp_path: Path) -> None:
    seen = 0
    for event in trained(tmp_path, 45, (7, 33)):
        if event["event"] == "steps":
            seen += len(event["step_seconds"])
        if event["event"] == "evaluation":
            assert event["step"] == seen


class TickingClock:
    """Each mark is a second after the one before it, so that durations count the marks between."""

    lag = False

    def __init__(self) -> None:
        self.now = 0.0

    def mark(self) -> float:
        self.now += 1.0
        return self.now

    def has_passed(self, mark: float) -> bool:
        return mark <= self.now

    def seconds(self, start: float, end: float) -> float:
        return end - start


def test_evaluation_and_checkpoint_belong_to_no_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = TickingClock()
    monkeypatch.setattr("speedproof.recorder.clock_for", lambda device: clock)
    with Recorder(tmp_path) as recorder:
        recorder.start(model=torch.nn.Linear(1, 1))
        recorder.step(1)
        clock.now += 100
        recorder.evaluate(1.0)
        recorder.step(1)
        with recorder.phase("checkpoint"):
            clock.now += 100
        recorder.step(1)
        recorder.pause()
        clock.now += 100
        recorder.resume()
        recorder.step(1)
        clock.now += 5
        recorder.step(1)
    seconds = [s for event in events_of(tmp_path) if event["event"] == "steps" for s in event["step_seconds"]]
    assert seconds == [1, 1, 2, 2, 6]


class LateClock(TickingClock):
    """A device that is so many marks behind the host."""

    lag = True

    def __init__(self, behind: int) -> None:
        super().__init__()
        self.behind = behind

    def has_passed(self, mark: float) -> bool:
        return mark <= self.now - self.behind


@pytest.mark.parametrize(("behind", "reported_after"), [(0, 20), (3, 23), (1000, 40)])
def test_steps_are_reported_as_soon_as_the_device_has_done_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, behind: int, reported_after: int
) -> None:
    monkeypatch.setattr("speedproof.recorder.clock_for", lambda device: LateClock(behind))
    with Recorder(tmp_path) as recorder:
        recorder.start(model=torch.nn.Linear(1, 1))
        steps = 0
        while not any(event["event"] == "steps" for event in events_of(tmp_path)):
            recorder.step(1)
            steps += 1
    assert steps == reported_after


def test_unknown_is_left_out(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        recorder.start(model=torch.nn.Linear(1, 1))
        recorder.step(None)
        recorder.evaluate(0.5)
    start, steps, evaluation, end = events_of(tmp_path)
    assert not {"config", "config_hash", "data_hash", "evaluation_samples"} & start.keys()
    assert "samples" not in steps
    assert "samples_seen" not in evaluation
    assert "samples" not in end


def test_error_leaves_no_end(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), Recorder(tmp_path) as recorder:
        recorder.start(model=torch.nn.Linear(1, 1))
        recorder.step(1)
        raise ZeroDivisionError
    assert all(event["event"] != "run_end" for event in events_of(tmp_path))


def test_refuses_a_folder_with_a_record(tmp_path: Path) -> None:
    trained(tmp_path, 1)
    with pytest.raises(FileExistsError, match="empty folder"):
        trained(tmp_path, 1)


def test_scaler_skips_are_counted(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 1)
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu", init_scale=16.0)
    with Recorder(tmp_path) as recorder:
        recorder.start(model=model, optimizer=optimizer)
        for factor in (1.0, float("inf"), 1.0):
            scaler.scale(model(torch.ones(4, 3)).pow(2).mean() * factor).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            recorder.step(4)
    assert step_counts(events_of(tmp_path)) == (3, 1)


@pytest.mark.slow
def test_ranks_over_gloo(tmp_path: Path) -> None:
    """The recorder measures where it shares its folder with the hook."""
    (tmp_path / "script.py").write_text(f"""
import os, time, torch, torch.distributed as dist
from speedproof import Recorder
dist.init_process_group("gloo")
rank = dist.get_rank()
model = torch.nn.Linear(3, 1); optimizer = torch.optim.SGD(model.parameters(), 0.1)
with Recorder({str(tmp_path / "out")!r}) as recorder:
    recorder.start(model=model, optimizer=optimizer)
    for _ in range(25):
        loss = model(torch.ones(4, 3)).pow(2).mean(); loss.backward(); optimizer.step()
        time.sleep(0.01 * rank)
        recorder.step(4 + rank, float(rank))
    if rank == 0:
        recorder.evaluate(1.0)
dist.destroy_process_group()
os._exit(0)  # a usual exit crashes now and then, by a thread of torch's gloo
""")
    run_recorded(
        tmp_path, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "script.py"
    )
    events = events_of(tmp_path / "out")
    assert step_counts(events) == (25, 0)
    assert events[1]["samples"] == [9] * 20
    assert events[1]["train_loss"] == [0.5] * 20
    assert min(events[1]["step_seconds"]) >= 0.01  # a sleep is never shorter
    assert events[-2]["samples_seen"] == 225


def test_what_another_process_adds_is_not_written_over(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path)
    file.write("run_start")
    write_reason(tmp_path, "two processes trained as one rank")
    file.write("steps")
    file.close()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["run_start", "run_end", "steps"]
    with pytest.raises(FileExistsError):
        MetricsFile(tmp_path)


def test_loop_says_itself_that_it_skipped_an_update(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 1)
    optimizer, scaler = torch.optim.AdamW(model.parameters()), torch.amp.GradScaler("cpu")
    with Recorder(tmp_path) as recorder:
        recorder.start(model=model, optimizer=optimizer)
        scaler.scale(model(torch.ones(4, 3)).mean()).backward()
        scaler.step(optimizer)
        recorder.step(4, skipped=True)
    assert step_counts(events_of(tmp_path)) == (1, 1)


@pytest.mark.slow
@pytest.mark.parametrize(("warm_up_steps", "reason"), [(1, None), (45, "a recorder started after")])
def test_steps_before_its_start(tmp_path: Path, warm_up_steps: int, reason: str | None) -> None:
    """A few are a warm-up of compiled code; those that the hook has written make a record of their own."""
    events = recorded(
        tmp_path,
        f"""
from speedproof import Recorder
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range({warm_up_steps}):
    loss(m).backward(); o.step()
with Recorder() as recorder:
    recorder.start(model=m, optimizer=o)
    for _ in range(25):
        loss(m).backward(); o.step(); recorder.step(8)
    recorder.evaluate(0.5)
""",
    )
    if reason is None:
        assert step_counts(events) == (25, 0)
    else:
        assert reason in reason_of(events)


@pytest.mark.slow
def test_ranks_give_up_together(tmp_path: Path) -> None:
    """Rank 0 alone sees that the folder is taken. The others would wait for it in a collective."""
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "metrics.jsonl").touch()
    (tmp_path / "script.py").write_text(f"""
import os, torch, torch.distributed as dist
from speedproof.run.process_recorder import start_recorder
dist.init_process_group("gloo")
recorder = start_recorder({str(tmp_path / "taken")!r}, model=torch.nn.Linear(3, 1))
assert recorder is None
dist.all_reduce(torch.ones(1))
os.write(1, f"trained on {{dist.get_rank()}}\\n".encode())
os._exit(0)
""")
    printed = run_recorded(
        tmp_path, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "script.py"
    )
    assert "trained on 0" in printed
    assert "trained on 1" in printed
    assert "empty folder" in printed


def test_without_speedproof_it_records_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPEEDPROOF_RECORD", raising=False)
    monkeypatch.chdir(tmp_path)
    with Recorder() as recorder:
        recorder.start(model=torch.nn.Linear(1, 1), config={"lr": 0.1})
        recorder.step(1)
        with recorder.phase("checkpoint"):
            recorder.pause()
        recorder.evaluate(1.0, held_out=torch.ones(2, 2))
    assert list(tmp_path.iterdir()) == []


def test_config_is_of_plain_values(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="OmegaConf"):
        Recorder(tmp_path).start(model=torch.nn.Linear(1, 1), config={"model": object()})


def test_what_an_update_does_is_work(tmp_path: Path) -> None:
    """A scheduler starts at another rate than its own."""
    model = torch.nn.Linear(1, 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.25, weight_decay=0.5)
    torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.1)
    with Recorder(tmp_path) as recorder:
        recorder.start(model=model, optimizer=optimizer, work_keys=["mask"], effective={"mask": "causal"})
        recorder.step(1)
    start = events_of(tmp_path)[0]
    assert start["work_keys"] == [
        *("optimizer_lr", "optimizer_weight_decay", "optimizer_betas", "optimizer_eps", "mask")
    ]
    effective = start["effective"]
    assert (effective["optimizer_lr"], effective["optimizer_weight_decay"]) == ("0.25", "0.5")


def test_callback_on_a_device_without_a_clock_says_so_in_the_metrics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process_recorder, "_recorder", None)
    model = torch.nn.Linear(1, 1, device="meta")
    assert process_recorder.start_recorder(tmp_path, model=model) is None
    assert "not on meta" in reason_of(events_of(tmp_path))
