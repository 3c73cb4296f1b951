"""Asks nvidia-smi about GPUs and their processes, as gpus.ts does, on a node that may have no Node.js."""

import contextlib
import os
import re
import subprocess

Row = dict[str, str | None]
Gpu = dict[str, object]

FACT_FIELDS = [
    "index",
    "uuid",
    "name",
    "driver_version",
    "vbios_version",
    "memory.total",
    "memory.used",
    "retired_pages.pending",
    "remapped_rows.pending",
    "ecc.mode.current",
    "persistence_mode",
    "mig.mode.current",
    "power.limit",
    "clocks.max.sm",
]
PROCESS_FIELDS = ["gpu_uuid", "pid"]
# What newer drivers renamed, by its old name.
OLDER_NAMES = {"clocks_event_reasons.active": "clocks_throttle_reasons.active"}
CORRUPT_INFOROM = 14  # with which it ends after a whole answer
BYTES_PER_MEBIBYTE = 2**20
ANSWER_SECONDS = 30.0


class NoAnswer(Exception):
    """nvidia-smi is missing, or has nothing to tell; the text says why."""


def query(table: str, fields: list[str], seconds: float = ANSWER_SECONDS) -> tuple[list[str], list[Row]]:
    """Returns the fields that this driver knows and the rows of the table; raises NoAnswer."""
    try:
        ended = subprocess.run(
            command(table, fields),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NoAnswer(f"nvidia-smi cannot be started ({error})") from error
    printed, said = (text.decode(errors="replace") for text in (ended.stdout, ended.stderr))
    rows = [row for line in printed.splitlines() if (row := parse_row(line, fields)) is not None]
    if ended.returncode in (0, CORRUPT_INFOROM):
        return fields, rows
    text = f"{printed}\n{said}".strip()
    unknown = re.search(r'Field "([^"]+)" is not a valid field', text)
    if unknown is None or unknown[1] not in fields:
        raise NoAnswer(f"nvidia-smi ended with exit code {ended.returncode}: {text.splitlines()[:1]}")
    older = OLDER_NAMES.get(unknown[1])
    known = [older if field == unknown[1] else field for field in fields]
    return query(table, [field for field in known if field is not None], seconds)


def command(table: str, fields: list[str]) -> list[str]:
    return ["nvidia-smi", f"--query-{table}={','.join(fields)}", "--format=csv,noheader,nounits"]


def parse_row(line: str, fields: list[str]) -> Row | None:
    """None for a line that is no row, such as the warning of a driver."""
    cells = [cell.strip() for cell in line.split(",")]
    if len(cells) != len(fields):
        return None
    return {field: present(cell) for field, cell in zip(fields, cells, strict=True)}


def present(cell: str) -> str | None:
    return None if cell in ("", "N/A") or re.fullmatch(r"\[.*\]", cell) else cell


def text_of(row: Row, field: str) -> str | None:
    return row.get(field) or row.get(OLDER_NAMES.get(field, ""))


def number_of(row: Row, field: str) -> float | int | None:
    """None for anything that is no plain number."""
    text = text_of(row, field)
    if text is None:
        return None
    if re.fullmatch(r"0x[0-9a-fA-F]+", text):
        return int(text, 16)
    if not re.fullmatch(r"\d+(\.\d+)?", text):
        return None
    number = float(text)
    return int(number) if number.is_integer() else number


def bytes_of(row: Row, field: str) -> int | None:
    mebibytes = number_of(row, field)
    return None if mebibytes is None else int(mebibytes * BYTES_PER_MEBIBYTE)


def used_gpus(processes: int | None) -> list[Gpu]:
    """The GPUs that the ranks of this node use, in the order of their local ranks; raises NoAnswer."""
    _, rows = query("gpu", FACT_FIELDS)
    gpus = [facts for row in rows if (facts := facts_of(row)) is not None]
    if not gpus:
        raise NoAnswer("nvidia-smi lists no GPU")
    listed = os.environ.get("CUDA_VISIBLE_DEVICES")
    if listed is not None and listed.strip() in ("", "-1"):
        raise NoAnswer("CUDA_VISIBLE_DEVICES hides every GPU of this machine")
    return visible(gpus, listed)[:processes]


def visible(gpus: list[Gpu], listed: str | None) -> list[Gpu]:
    """As CUDA reads its variable: what follows an entry that names no GPU is invisible too."""
    if listed is None:
        return gpus
    found: list[Gpu] = []
    for entry in listed.split(","):
        gpu = find(gpus, entry.strip())
        if gpu is None:
            break
        found.append(gpu)
    return found


def find(gpus: list[Gpu], entry: str) -> Gpu | None:
    if entry.isdigit():
        return next((gpu for gpu in gpus if gpu["index"] == int(entry)), None)
    matching = [gpu for gpu in gpus if entry.startswith("GPU-") and str(gpu["uuid"]).startswith(entry)]
    return matching[0] if len(matching) == 1 else None


def facts_of(row: Row) -> Gpu | None:
    """By the names that result.json has."""
    index, uuid, name = number_of(row, "index"), text_of(row, "uuid"), text_of(row, "name")
    driver = text_of(row, "driver_version")
    if index is None or uuid is None or name is None or driver is None:
        return None
    return {
        "index": index,
        "uuid": uuid,
        "name": name,
        "driver": driver,
        "vbios": text_of(row, "vbios_version"),
        "memoryTotalBytes": bytes_of(row, "memory.total"),
        "memoryUsedBytes": bytes_of(row, "memory.used"),
        "hasPendingEccErrors": pending_errors(row),
        "eccMode": text_of(row, "ecc.mode.current"),
        "persistenceMode": text_of(row, "persistence_mode"),
        "migMode": text_of(row, "mig.mode.current"),
        "powerLimitWatts": number_of(row, "power.limit"),
        "maxSmClockMhz": number_of(row, "clocks.max.sm"),
    }


def pending_errors(row: Row) -> bool | None:
    told = [text_of(row, field) for field in ("retired_pages.pending", "remapped_rows.pending")]
    return None if all(value is None for value in told) else "Yes" in told


def fingerprint(gpus: list[Gpu]) -> str | None:
    """What must not change between two runs. Memory in use and temperatures do."""
    keys = ("uuid", "name", "driver", "vbios", "eccMode", "persistenceMode", "migMode")
    texts = [
        " ".join(
            [str(gpu[key] or "") for key in keys]
            + [f"{told(gpu['powerLimitWatts'])} W", f"{told(gpu['maxSmClockMhz'])} MHz"]
        )
        for gpu in gpus
    ]
    return "; ".join(texts) if texts else None


def told(value: object) -> str:
    return "null" if value is None else str(value)


def processes_on(uuids: list[str], seconds: float = ANSWER_SECONDS) -> list[dict[str, object]]:
    """The compute processes on these GPUs; raises NoAnswer."""
    _, rows = query("compute-apps", PROCESS_FIELDS, seconds)
    found = [{"gpuUuid": text_of(row, "gpu_uuid"), "pid": number_of(row, "pid")} for row in rows]
    return [one for one in found if one["gpuUuid"] in uuids and isinstance(one["pid"], int)]


def host_name() -> str:
    return os.uname().nodename


def node_name() -> str:
    """As the cluster calls this node: two nodes of a test may share one host."""
    return os.environ.get("SPEEDPROOF_NODE") or os.environ.get("SLURMD_NODENAME") or host_name()


def read_bytes(path: str) -> bytes:
    """Empty for what has vanished or belongs to somebody else."""
    with contextlib.suppress(OSError), open(path, "rb") as file:  # noqa: PTH123
        return file.read()
    return b""
