"""Prints, as one JSON line, what an interpreter has for a training: its version, torch, the GPUs torch sees.

python doctor.py
"""

import importlib.util
import json
import platform
import sys


def main() -> int:
    print(json.dumps({"python": platform.python_version(), "torch": torch_facts()}))
    return 0


def torch_facts() -> dict[str, object] | None:
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    return {
        "version": torch.__version__,
        "hasTorchrun": importlib.util.find_spec("torch.distributed.run") is not None,
        "cuda": torch.version.cuda,
        "gpus": torch.cuda.device_count(),
    }


if __name__ == "__main__":
    sys.exit(main())
