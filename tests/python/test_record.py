"""Unchanged scripts under `python -m speedproof.record`: each counts its updates right, or says why not."""

from pathlib import Path

import pytest
from recorded import reason_of, recorded, run_recorded, step_counts

pytestmark = pytest.mark.slow

ACCUMULATION = """
m = model(); o = torch.optim.AdamW(m.parameters())
for _ in range(45):
    for _ in range(3):
        loss(m).backward()
    o.step(); o.zero_grad()
"""
SCALER = """
m = model(); o = torch.optim.{optimizer}; s = torch.amp.GradScaler("cpu", init_scale=2.0 ** 4)
for n in range(30):
    factor = float("inf") if n % 10 == 4 else 1.0
    s.scale(loss(m) * factor).backward()
    s.step(o); s.update(); o.zero_grad()
"""
SEVERAL = """
m, k = model(), model()
optimizers = [torch.optim.SGD(m.parameters(), 0.1), torch.optim.AdamW(k.parameters())]
for _ in range(25):
    (loss(m) + loss(k)).backward()
    for o in optimizers:
        o.step(); o.zero_grad()
"""
LBFGS = """
m = model(); o = torch.optim.LBFGS(m.parameters(), lr=0.1, max_iter=3)
def closure():
    o.zero_grad(); value = m(torch.ones(8, 4)).pow(2).mean(); value.backward(); return value
for _ in range(22):
    o.step(closure)
"""
CALLS_ITSELF = """
class Own(torch.optim.SGD):
    def step(self, closure=None):
        super().step(closure)
        return super().step(closure)
torch.optim.SGD(model().parameters(), 0.1)  # from now on SGD.step calls hooks
m = model(); o = Own(m.parameters(), 0.1)
for _ in range(21):
    loss(m).backward(); o.step(); o.zero_grad()
"""
IN_PARTS = """
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(21):
    loss(m).backward()
    for _ in range(4):
        o.step()
    o.zero_grad()
"""
COMPILED = """
m = model(); o = torch.optim.AdamW(m.parameters())
def update():
    loss(m).backward(); o.step(); o.zero_grad()
update = torch.compile(update, backend="eager")
for _ in range(21):
    update()
"""
RAISES = """
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
def closure():
    raise ArithmeticError
for n in range(21):
    loss(m).backward()
    if n == 3:
        try:
            o.step(closure)
        except ArithmeticError:
            pass
    o.step(); o.zero_grad()
"""
HARD_EXIT = """
import os
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(21):
    loss(m).backward(); o.step(); o.zero_grad()
os._exit(0)
"""


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        pytest.param(ACCUMULATION, (45, 0), id="accumulation"),
        pytest.param(SCALER.format(optimizer="AdamW(m.parameters())"), (30, 3), id="scaler-without-hook"),
        pytest.param(
            SCALER.format(optimizer="AdamW(m.parameters(), fused=True)"), (30, 3), id="scaler-fused"
        ),
        pytest.param(SEVERAL, (25, 0), id="several-optimizers"),
        pytest.param(LBFGS, (22, 0), id="lbfgs"),
        pytest.param(CALLS_ITSELF, (21, 0), id="calls-itself"),
        pytest.param(IN_PARTS, (21, 0), id="optimizer-in-parts"),
        pytest.param(COMPILED, (21, 0), id="compiled-step"),
        pytest.param(RAISES, (21, 0), id="step-that-raises"),
        pytest.param(HARD_EXIT, (21, 0), id="os-exit"),
    ],
)
def test_counts_updates(tmp_path: Path, text: str, counts: tuple[int, int]) -> None:
    events = recorded(tmp_path, text)
    assert step_counts(events) == counts
    start = events[0]
    assert start["seed"] == 7
    assert start["steps_include"] == ["evaluation", "checkpoint"]
    assert "data_hash" not in start
    assert "samples" not in events[1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("print('no training')", "no process", id="no-training"),
        pytest.param(
            "m = model(); loss(m).backward()\nfor p in m.parameters(): p.data -= 0.1 * p.grad",
            "no optimizer step",
            id="own-optimizer",
        ),
        pytest.param(
            """
m = model(); own = {p: torch.optim.SGD([p], 0.1) for p in m.parameters()}
for p in m.parameters():
    p.register_post_accumulate_grad_hook(lambda p: own[p].step())
for _ in range(5):
    loss(m).backward()
""",
            "inside the backward pass",
            id="optimizer-in-backward",
        ),
        pytest.param(
            """
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(5):
    for p in m.parameters(): p.grad = torch.randn_like(p)
    o.step()
""",
            "without a backward pass",
            id="no-backward",
        ),
        pytest.param(
            """
torch.cuda.is_initialized = torch.cuda.is_current_stream_capturing = lambda: True
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
torch.cuda.current_device = lambda: 0
o.step()
""",
            "CUDA graph",
            id="captured",
        ),
    ],
)
def test_says_why_it_cannot_measure(tmp_path: Path, text: str, words: str) -> None:
    assert words in reason_of(recorded(tmp_path, text))


def test_reads_settings_back(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        """
m = model(); o = torch.optim.AdamW(m.parameters(), fused=True)
for _ in range(21):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        value = loss(m)
    value.backward(); o.step(); o.zero_grad()
""",
    )
    effective = events[0]["effective"]
    assert events[0]["parameter_count"] == 5
    assert effective["optimizer"] == "AdamW"
    assert effective["optimizer_fused"] == "true"
    assert effective["parameter_dtype"] == "float32"
    assert effective["autocast"] == "bfloat16 on cpu"
    assert effective["compiled"] is False
    assert effective["optimizer_lr"] == "0.001"
    assert "optimizer_lr" in events[0]["work_keys"]


RANK = """
import os, time
import torch.distributed as dist
def leave():
    dist.destroy_process_group()
    os._exit(0)  # a usual exit crashes now and then, by a thread of torch's gloo
def train(rank):
    m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
    for _ in range(25):
        o.zero_grad(); loss(m).backward()
        if rank == 1:
            time.sleep(0.01)
        o.step()
"""


@pytest.mark.parametrize("joins", [True, False], ids=["gloo", "no-process-group"])
def test_torchrun_takes_the_slowest_rank(tmp_path: Path, joins: bool) -> None:
    join, leave = ("dist.init_process_group('gloo')", "leave()") if joins else ("", "")
    text = f"{RANK}\nimport os\n{join}\ntrain(int(os.environ['RANK']))\n{leave}"
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    events = recorded(tmp_path, text, launch=launch)
    assert step_counts(events) == (25, 0)
    assert events[0]["world_size"] == 2
    assert len(events[0]["device_names"]) == 2
    assert min(events[1]["step_seconds"][1:]) >= 0.01  # a sleep is never shorter


def test_spawned_ranks_record(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        f"""{RANK}
def rank_of_spawn(rank):
    dist.init_process_group("gloo", init_method="file://{tmp_path}/store", rank=rank, world_size=2)
    train(rank)
    leave()
if __name__ == "__main__":
    import torch.multiprocessing as mp
    mp.spawn(rank_of_spawn, nprocs=2)
""",
    )
    assert step_counts(events) == (25, 0)
    assert events[0]["world_size"] == 2


def test_forked_child_records(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        f"""{RANK}
import multiprocessing
child = multiprocessing.get_context("fork").Process(target=train, args=(0,))
child.start(); child.join()
""",
    )
    assert step_counts(events) == (25, 0)


def test_ranks_that_differ_in_steps_are_refused(tmp_path: Path) -> None:
    text = """
import os
m = model(); o = torch.optim.SGD(m.parameters(), 0.1)
for _ in range(21 + int(os.environ["RANK"])):
    loss(m).backward(); o.step(); o.zero_grad()
"""
    launch = ("-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2")
    assert "different numbers" in reason_of(recorded(tmp_path, text, launch=launch))


def test_two_processes_of_one_rank_are_refused(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        f"""{RANK}
if __name__ == "__main__":
    import torch.multiprocessing as mp
    mp.spawn(train, nprocs=2)
""",
    )
    assert any("two processes" in event.get("reason", "") for event in events)


def test_failed_script_has_no_end(tmp_path: Path) -> None:
    events = recorded(
        tmp_path,
        f"""{RANK}
import sys
train(0)
sys.excepthook(ValueError, ValueError("diverged"), None)
""",
    )
    assert events[-1]["event"] != "run_end"


def test_hidden_sitecustomize_runs_and_arguments_arrive(tmp_path: Path) -> None:
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    (hidden / "sitecustomize.py").write_text("import os; os.environ['HIDDEN'] = 'ran'")
    (tmp_path / "say.py").write_text("import os, sys; print(os.environ['HIDDEN'], sys.argv[1:], __name__)")
    python = str(Path(__file__).parents[2] / "python")
    printed = run_recorded(tmp_path, "say.py", "--out", "x", "-m", env={"PYTHONPATH": f"{python}:{hidden}"})
    assert "ran ['--out', 'x', '-m'] __main__" in printed
