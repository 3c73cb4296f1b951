#!/usr/bin/env bash
# Shows on one host with two GPUs what is said of another transport than the one that an experiment names:
#
#   benchmarks/interconnect/show.sh OUT [PYTHON] [TRANSPORT]      some four minutes, most of it the start of torch
#
# OUT is a folder in the repository; PYTHON has torch (python3); TRANSPORT is what the host has (nvlink). The small
# experiment is that of `npm start`, on two GPUs. It ends with 1 where one of the three cases says something else.
set -euo pipefail
if [ $# -lt 1 ] || [[ $1 == -* || $1 == /* ]]; then
  echo "usage: $0 OUT [PYTHON] [TRANSPORT]; OUT is a folder in the repository, relative to its root" >&2
  exit 2
fi
cd "$(dirname "$0")/../.."
export PATH="$PWD/node_modules/.bin:$PATH" # the Node of npm run setup, where that was called
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}" # multicast hangs where a host has it off
out=$1 python=${2:-python3} transport=${3:-nvlink}
mkdir -p "$out"

experiment() { # FILE INTERCONNECT-LINE
  # One block: what is wanted is what NCCL does, not a verdict about speed.
  sed -e "s|^  python: .*|  python: $python|" -e "s|^  nproc_per_node: 2|&$2|" -e "/CUDA_VISIBLE_DEVICES/d" \
    -e "s|^  blocks: 2|  blocks: 1|" -e "s|^  warm_up_launches: 1|  warm_up_launches: 0|" -e "/^ladder:/,\$d" \
    configs/experiments/smoke.yaml > "$1"
}
experiment "$out/named.yaml" "\\n  interconnect: $transport"
experiment "$out/unnamed.yaml" ""

failed=0
# NAME FILE CHECK VERDICT LAUNCHES TRANSPORT: what is expected of the check, the verdict (any: other checks decide
# it, on a training so short) and each launch
show() {
  local code=0
  node lib/cli.js run "$out/$2.yaml" --out "$out/$1" > "$out/$1.log" 2>&1 || code=$?
  "$python" - "$out/$1/result.json" "$1" "$code" "${@:3}" <<'PYTHON' || failed=1
import json, sys
file, name, code, check, verdict, launches, transport = sys.argv[1:]
result = json.load(open(file))
found = next((one for one in result["machineChecks"] if one["name"] == "interconnect"), None)
ways = [launch.get("interconnect") for launch in result["launches"]]
probe = (result["preflight"].get("interconnect") or {}).get("value")
print(f"{name}: {result['verdict']['verdict']}, exit code {code}")
print(f"  interconnect: {found and found['status']}, {found and found['detail']}")
print(f"  probe: {json.dumps(probe)}")
print(f"  launches: {json.dumps(ways)}")
expected = [{"within": [transport], "between": []}] * int(launches)
is_verdict = verdict in ("any", result["verdict"]["verdict"])
is_right = found is not None and is_verdict and (found["status"], ways) == (check, expected)
print(f"  {'as expected' if is_right else f'expected {check}, {verdict}, {expected}'}")
sys.exit(not is_right)
PYTHON
}
show as-it-is named passed any 2 "$transport"
export NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1
show sockets-where-others-are-named named failed invalid 0 sockets
show sockets-unnamed unnamed warned any 2 sockets
exit $failed
