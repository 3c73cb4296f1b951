#!/usr/bin/env bash
# Repeats what README and docs say about GPUs, part by part, on one host:
#
#   benchmarks/on-gpus.sh OUT [PART...]      OUT is a folder in the repository
#
# A part that is done leaves OUT/PART.done and is passed over by the next call, so that a call that was ended
# is only called again; it ends with 1 while something is not done. Without parts, all of them, for which the host
# needs four GPUs: some six hours, by the times of those parts that have been measured.
# Needs Node 24 and, as `python3`, Python with torch; the rivals also lightning and accelerate, the ladder
# `npm run setup`, learning `pip install --group benchmarks`.
set -euo pipefail
parts=(data check kernels floor-4gpu gate-4gpu recipe-4gpu plan-4gpu floor-2gpu gate-2gpu recipe-2gpu plan-2gpu
  floor-1gpu gate-1gpu ladder-1gpu parity speed-cases-4gpu speed-cases-2gpu rivals-4gpu rivals-2gpu breakdown-4gpu breakdown-2gpu
  learning memory)
if [ $# -lt 1 ]; then
  echo "usage: $0 OUT [PART...]; parts: ${parts[*]}" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}" # multicast hangs where a host has it off
out=$1
shift
for part in "$@"; do
  if [[ " ${parts[*]} " != *" $part "* ]]; then
    echo "$0: no part is called $part; parts: ${parts[*]}" >&2
    exit 2
  fi
done
[ $# -eq 0 ] || parts=("$@")
short=(--set train.updates=60 --set train.window_updates=10 --set optimizer.warmup_updates=10
  --set data.held_out_fraction=0.004 --set evaluation.rollout_trajectories=0)
ranks() { python3 -m torch.distributed.run --standalone --nproc-per-node "$@"; }
action() { benchmarks/through-the-action.sh "$out/$1" "configs/experiments/$2.yaml" -- "${@:3}"; }

measure() {
  local gpus=${1//[!0-9]/}
  case $1 in
    data) python3 -m trainer generate-data --config configs/train/two-task-4gpu-baseline.yaml ;;
    check) python3 benchmarks/gpu_check.py --out "$(mktemp -d "$out/check-XXXXXX")" --data data ;;
    kernels) python3 -m benchmarks.kernel_speed > "$out/kernels.jsonl" ;;
    gate-?gpu) action "$1" "two-task-${1#gate-}" blocks=4 ;;
    recipe-?gpu) action "$1" "two-task-${1#recipe-}-recipe" blocks=4 ;;
    plan-?gpu) action "$1" "$1" blocks=4 ;;
    # Before the gate, which is then held against it.
    floor-?gpu) action "$1" "two-task-${1#floor-}" mode=aa blocks=5 ;;
    ladder-1gpu) # sums on the first GPU, rungs alone on the others
      local all number shared=() calls=() again worst=0
      IFS=, read -ra all <<< "${CUDA_VISIBLE_DEVICES-$(nvidia-smi --query-gpu=index --format=csv,noheader | paste -sd,)}"
      for number in "${!all[@]}"; do
        if [ ${#all[@]} -eq 1 ]; then
          shared=()
        elif [ "$number" -eq 0 ]; then
          shared=(--part sum)
        else
          shared=(--part alone --shard "$number/$((${#all[@]} - 1))")
        fi
        again=()
        [ ! -e "$out/ladder-1gpu/$number/ladder.json" ] || again=(--resume)
        CUDA_VISIBLE_DEVICES=${all[number]} node lib/cli.js ladder configs/experiments/ladder-1gpu.yaml \
          --out "$out/ladder-1gpu/$number" "${shared[@]}" "${again[@]}" &
        calls+=($!)
      done
      for number in "${calls[@]}"; do wait "$number" || worst=$?; done # all, since they hold GPUs
      [ "$worst" -eq 0 ] || return "$worst"
      node lib/cli.js ladder --show "$out"/ladder-1gpu/*/ladder.json > "$out/ladder-1gpu.txt"
      ;;
    parity)
      for form in baseline optimized; do
        ranks 4 -m trainer train --config "configs/train/parity-4gpu-$form.yaml" --seed 0 --out "$out/parity/$form" \
          --set train.updates=150 --set optimizer.warmup_updates=20 --set data.advection1d.trajectories=64 \
          --set data.held_out_fraction=0.02 --set evaluation.rollout_trajectories=0 || return
      done
      ;;
    speed-cases-?gpu) python3 -m benchmarks.speed_cases --gpus "$gpus" --out "$out/$1" ;;
    rivals-?gpu)
      for rival in lightning accelerate; do
        ranks "$gpus" -m "benchmarks.rivals.${rival}_run" --config "configs/train/two-task-${gpus}gpu-optimized.yaml" \
          "${short[@]}" --json "$out/$1/$rival.json" || return
      done
      ranks "$gpus" -m trainer train --config "configs/train/two-task-${gpus}gpu-optimized.yaml" --seed 0 \
        "${short[@]}" --out "$out/$1/ours"
      ;;
    breakdown-?gpu)
      for form in baseline optimized; do
        ranks "$gpus" -m trainer train --config "configs/train/two-task-${gpus}gpu-$form.yaml" --seed 0 "${short[@]}" \
          --set speed.trace_updates=3 --out "$out/$1/$form" || return
      done
      python3 -m benchmarks.step_breakdown --updates 3 --json "$out/$1.json" --picture "$out/$1.png" \
        "$out/$1"/*/trace-0.json > "$out/$1.txt"
      ;;
    learning)
      python3 -m benchmarks.learning.spectra > "$out/spectra.txt" || return
      python3 -m benchmarks.learning.compare --config configs/train/two-task-1gpu-optimized.yaml --out "$out/learning" \
        --kill-at-update 600 --set train.checkpoint_every_updates=300 \
        --set train.updates=1200 --set evaluation.every_updates=150 --set data.held_out_fraction=0.02
      ;;
    memory)
      python3 benchmarks/memory_growth.py --config configs/train/two-task-1gpu-optimized.yaml --out "$out/memory" \
        --set train.updates=2000 --set evaluation.rollout_trajectories=0
      ;;
  esac
}

mkdir -p "$out"
failed=0
set -m # a part has a process group of its own, which ends with this script
running=
trap '[ -z "$running" ] || { kill -TERM -- "-$running"; wait "$running"; }; exit 143' TERM INT
for part in "${parts[@]}"; do
  [ ! -e "$out/$part.done" ] || continue
  started=$SECONDS
  verdict=0
  measure "$part" > "$out/$part.log" 2>&1 &
  running=$!
  wait "$running" || verdict=$?
  echo "$part: exit $verdict after $((SECONDS - started)) s"
  # An experiment that was judged is done, passed or not; after an invalid one the machine has to be looked at.
  if [ $verdict -eq 0 ] || grep -qxE 'passed|failed|inconclusive' "$out/$part/outputs.txt" 2> /dev/null; then
    touch "$out/$part.done"
  else
    echo "$part: not done, see $out/$part.log" >&2
    failed=1
  fi
done
exit $failed
