"""Our kernels on a CPU, in Triton's interpreter, which is chosen before Triton is first imported."""

import os
import subprocess
import sys

from tiny import ROOT


def test_our_kernels_keep_their_promises_in_tritons_interpreter():
    """Without conftest.py: its checks of shapes rewrite the modules, whose source the interpreter reads."""
    program = [sys.executable, "-m", "pytest", "--noconftest", "tests/trainer/interpreted_kernels.py"]
    chosen = {"TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": "", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(program, cwd=ROOT, env={**os.environ, **chosen}, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
