#!/usr/bin/env bash
# Repeats what README and docs say about GPUs, part by part, on one host:
#
#   benchmarks/on-gpus.sh OUT [PART...]      OUT is a folder in the repository, relative to its root
#
# A part that is done leaves OUT/PART.done and is passed over by the next call, so that a call that was ended
# is only called again; it ends with 1 while something is not done. Without parts, all of them, for which the
# host needs four GPUs: some seven hours, by the times of those parts that have been measured (not fp16-4gpu,
# ladder-4gpu). What the parts need, such as Python with torch as `python3`, is looked for first; where something is missing
# the call names it, says how to get it and ends with 2, nothing measured. A host without a network gets Node and
# packages from benchmarks/harness/pack.sh.
set -euo pipefail
parts=(data check-1gpu check-2gpu check-4gpu kernels floor-4gpu gate-4gpu fp16-4gpu recipe-4gpu plan-4gpu
  plan-parts-4gpu floor-2gpu gate-2gpu recipes-2gpu recipe-2gpu plan-2gpu plan-parts-2gpu floor-1gpu gate-1gpu
  recipes-1gpu recipe-1gpu plan-1gpu ladder-1gpu ladder-4gpu parity operator-1gpu speed-cases-4gpu
  speed-cases-2gpu speed-cases-1gpu rivals-4gpu rivals-2gpu rivals-1gpu starts-4gpu starts-2gpu starts-1gpu
  breakdown-4gpu breakdown-2gpu breakdown-1gpu formats physics learning memory gpt2-1gpu ways-in-1gpu)
if [ $# -lt 1 ] || [[ $1 == -* ]]; then
  echo "usage: $0 OUT [PART...]; parts: ${parts[*]}" >&2
  exit 2
fi
if [[ -z $1 || $1 == /* || /$1/ == */../* ]]; then
  echo "$0: OUT is a folder in the repository, relative to its root, such as out/gpus; got $1" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
export PATH="$PWD/node_modules/.bin:$PATH" # the Node of npm run setup, where that was called
export NCCL_NVLS_ENABLE="${NCCL_NVLS_ENABLE:-0}" # multicast hangs where a host has it off
out=$1
shift
is_part() { # NAME
  local known
  for known in "${parts[@]}"; do [[ $known != "$1" ]] || return 0; done
  return 1
}
for part in "$@"; do
  if ! is_part "$part"; then
    echo "$0: no part is called $part; parts: ${parts[*]}" >&2
    exit 2
  fi
done
[ $# -eq 0 ] || parts=("$@")
short=(--set train.updates=60 --set train.window_updates=10 --set optimizer.warmup_updates=10
  --set data.held_out_fraction=0.004 --set evaluation.rollout_trajectories=0)
with_pack() { PYTHONPATH="$PWD/.packages${PYTHONPATH:+:$PYTHONPATH}" "$@"; } # of benchmarks/harness/pack.sh
ranks() { # GPUS PROGRAM...
  if [ "$1" -eq 1 ]; then
    python3 "${@:2}"
  else
    python3 -m torch.distributed.run --standalone --nproc-per-node "$@"
  fi
}
train() { # GPUS CONFIG FOLDER [OPTION...]; a training that has ended is kept
  grep -qs '"run_end"' "$3/metrics.jsonl" ||
    ranks "$1" -m trainer train --config "configs/train/$2.yaml" --seed 0 --out "$3" "${@:4}"
}
action() { benchmarks/harness/through-the-action.sh "$out/$1" "configs/experiments/$2.yaml" -- "${@:3}"; }
ladder() { # CONFIG FOLDER; goes on with what the folder holds
  local again=()
  [ ! -e "$2/ladder.json" ] || again=(--resume --retry)
  node lib/cli.js ladder "configs/experiments/$1.yaml" --out "$2" "${again[@]}"
}
share_out() { # FUNCTION PART: FUNCTION SHARD SHARDS for all shards, side by side, each on one GPU
  local number shards calls=() worst=0
  mkdir -p "$out/$2"
  # What is measured was shared by this number, which holds on a host with more or fewer GPUs too.
  [ -s "$out/$2/shards" ] || echo "${#gpus[@]}" > "$out/$2/shards"
  shards=$(< "$out/$2/shards")
  for number in "${!gpus[@]}"; do
    shards_of_gpu "$1" "$number" "$shards" &
    calls+=($!)
  done
  for number in "${calls[@]}"; do wait "$number" || worst=$?; done # all, since they hold GPUs
  return "$worst"
}
shards_of_gpu() { # FUNCTION NUMBER SHARDS: one after another where there are more shards than GPUs
  local shard worst=0
  for ((shard = $2; shard < $3; shard += ${#gpus[@]})); do
    CUDA_VISIBLE_DEVICES=${gpus[$2]} "$1" "$shard" "$3" || worst=$?
  done
  return "$worst"
}
check() { # PROCESSES FOLDER [OPTION...]; goes on with what the folder holds
  python3 -m benchmarks.gpu_check.run --processes "$1" --out "$2" --resume --data data "${@:3}"
}
check_shard() { # SHARD SHARDS
  check 1 "$out/check-1gpu/$1" --shard "$(($1 + 1))/$2" > "$out/check-1gpu/$1.txt"
}
formats_shard() { # SHARD SHARDS; trainings that differ by number format alone, by seeds; one may fail by itself
  local seed form format worst=0
  for ((seed = $1 + 1; seed <= 8; seed += $2)); do
    train_format baseline baseline "$seed" || worst=$?
    for form in optimized recipe; do
      for format in bf16 fp16; do
        train_format "$form" "$form-$format" "$seed" --set "speed.precision=$format" || worst=$?
      done
    done
  done
  return "$worst"
}
train_format() { # CONFIG NAME SEED [OPTION...]; its checkpoint is not needed
  local folder=$out/formats/$2-$3 evaluations=()
  [ "$1" != recipe ] || evaluations=(--set evaluation.every_updates=20)
  train 1 "two-task-1gpu-$1" "$folder" --set evaluation.rollout_trajectories=0 "${evaluations[@]}" \
    "${@:4}" --seed "$3" && rm -f "$folder/checkpoint.pt"
}

measure() {
  local count=${1##*-} worst=0
  count=${count%gpu}
  local optimized=two-task-${count}gpu-optimized
  case $1 in
    data) python3 -m trainer generate-data --config configs/train/two-task-4gpu-baseline.yaml ;;
    check-1gpu) share_out check_shard "$1" ;;
    check-[24]gpu) check "$count" "$out/$1" > "$out/$1.txt" ;;
    kernels) python3 -m benchmarks.speed.kernel_speed > "$out/kernels.jsonl" ;;
    # Seeds that no other part has: gates that share theirs share their luck, and say less together.
    gate-?gpu) action "$1" "two-task-${1#gate-}" blocks=4 "seed=${count}01" ;;
    fp16-4gpu) action "$1" two-task-4gpu-fp16 blocks=4 seed=441 ;;
    recipe-?gpu) action "$1" "two-task-${1#recipe-}-recipe" blocks=4 "seed=${count}11" ;;
    plan-?gpu) action "$1" "$1" blocks=4 "seed=${count}21" ;;
    plan-parts-?gpu)
      # All updates of its period, since every fourth has more to do.
      train "$count" "plan-${count}gpu" "$out/$1/plan" "${short[@]}" --set speed.trace_updates=4 || return
      train "$count" "plan-${count}gpu" "$out/$1/plan-untraced" "${short[@]}" || return
      python3 -m benchmarks.speed.step_breakdown --updates 4 --json "$out/$1.json" --picture "$out/$1.png" \
        "$out/$1/plan/trace-0.json" > "$out/$1.txt" || return
      # In the folder of all cases, which has none measured twice.
      python3 -m benchmarks.speed.speed_cases --gpus "$count" --out "$out/speed-cases-${count}gpu" \
        --only {baseline,optimized}-"${count}gpu" "plan-${count}gpu"{,-ddp,-nccl-default,-all-activations,-own-batch}
      ;;
    # Before the gate, which is then held against it.
    floor-?gpu) action "$1" "two-task-${1#floor-}" mode=aa blocks=5 "seed=${count}31" ;;
    ladder-?gpu)
      ladder "$1" "$out/$1" && node lib/cli.js ladder --show "$out/$1/ladder.json" > "$out/$1.txt"
      ;;
    parity)
      for form in baseline optimized; do
        train 4 "parity-4gpu-$form" "$out/$1/$form" \
          --set train.updates=150 --set optimizer.warmup_updates=20 --set data.advection1d.trajectories=64 \
          --set data.held_out_fraction=0.02 --set evaluation.rollout_trajectories=0 || return
      done
      ;;
    operator-1gpu)
      train 1 parity-4gpu-optimized "$out/$1/operator" --set train.pairs_per_update=1600 \
        --set train.updates=60 --set train.window_updates=10 --set optimizer.warmup_updates=10 \
        --set 'data.tasks=[advection1d]' --set data.held_out_fraction=0.01 \
        --set evaluation.rollout_trajectories=0 || return
      train 1 "$optimized" "$out/$1/whole" "${short[@]}" || return
      python3 -m benchmarks.speed.roofline --operator "$out/$1/operator/metrics.jsonl" \
        --whole "$out/$1/whole/metrics.jsonl" > "$out/$1.txt"
      ;;
    speed-cases-?gpu) python3 -m benchmarks.speed.speed_cases --gpus "$count" --out "$out/$1" ;;
    starts-?gpu) python3 -m benchmarks.speed.starts --gpus "$count" --out "$out/$1" > "$out/$1.txt" ;;
    recipes-?gpu)
      # The lowest that the gate's baselines end with, on all pairs, and a seed that is none of the gate's, which
      # is to prove what is chosen here.
      local below=0.00126 advection=5.26e-5 darcy=2.46e-3
      [ "$count" -eq 1 ] || below=0.00114 advection=4.2e-5 darcy=2.2e-3
      python3 -m benchmarks.learning.recipes --gpus "$count" --out "$out/$1" --below "$below" \
        --each-below "advection1d=$advection" --each-below "darcy2d=$darcy" --seed 0 \
        --set evaluation.every_updates=20 --set data.held_out_fraction=0.01 \
        --set data.held_out_every_nth_frame=1 --set evaluation.rollout_trajectories=0 > "$out/$1.txt"
      ;;
    rivals-?gpu)
      local rival graph graphs=(one)
      [ "$count" -eq 1 ] || graphs+=(split) # where DDP's buckets end
      for rival in lightning accelerate; do
        for graph in "${graphs[@]}"; do
          [ -e "$out/$1/$rival-$graph.json" ] ||
            ranks "$count" -m "benchmarks.rivals.${rival}_run" --config "configs/train/$optimized.yaml" \
              --graph "$graph" "${short[@]}" --json "$out/$1/$rival-$graph.json" || worst=$?
        done
      done
      train "$count" "$optimized" "$out/$1/ours" "${short[@]}" || worst=$?
      return "$worst"
      ;;
    breakdown-?gpu)
      for form in baseline optimized; do
        train "$count" "two-task-${count}gpu-$form" "$out/$1/$form" "${short[@]}" \
          --set speed.trace_updates=3 || return
        train "$count" "two-task-${count}gpu-$form" "$out/$1/$form-untraced" "${short[@]}" || return
      done
      python3 -m benchmarks.speed.step_breakdown --updates 3 --json "$out/$1.json" --picture "$out/$1.png" \
        "$out/$1"/*/trace-0.json > "$out/$1.txt"
      ;;
    gpt2-1gpu) benchmarks/harness/through-the-action.sh "$out/$1" examples/gpt2/experiment.yaml -- python=python3 ;;
    ways-in-1gpu)
      rm -rf "${out:?}/$1" # of a call that was ended
      python3 -m benchmarks.recorder.trained all --device cuda --out "$out/$1"
      ;;
    formats)
      share_out formats_shard "$1" || return
      python3 -m benchmarks.learning.formats "$out/formats" > "$out/formats.txt"
      ;;
    physics)
      local eight=(913 1 912 911 2 3 4 5)
      python3 -m benchmarks.learning.physics --out "$out/$1" --form 128-pairs --seeds "${eight[@]}" > "$out/$1.txt" || return
      # Only their ends count, so as many as fit train at once.
      python3 -m benchmarks.learning.physics --out "$out/$1" --form baseline-1gpu --per-gpu 4 \
        --set evaluation.every_updates=0 --seeds "${eight[@]}" >> "$out/$1.txt"
      ;;
    learning)
      with_pack python3 -m benchmarks.learning.spectra > "$out/spectra.txt" || return
      with_pack python3 -m benchmarks.learning.compare --config configs/train/two-task-1gpu-optimized.yaml \
        --out "$out/learning" --kill-at-update 600 --set train.checkpoint_every_updates=300 \
        --set train.updates=1200 --set evaluation.every_updates=150 --set data.held_out_fraction=0.02
      ;;
    memory)
      python3 -m benchmarks.speed.memory_growth --config configs/train/two-task-1gpu-optimized.yaml \
        --out "$out/memory" --set train.updates=2000 --set evaluation.rollout_trajectories=0
      ;;
  esac
}

declare -A missing=() # and the parts that need it
lacks() { missing[$1]+=" $part"; }
python_has() { # REMEDY MODULE...
  local absent
  absent=$(python3 -c 'import importlib.util, sys
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))' "${@:2}") || absent=${*:2}
  [ -z "$absent" ] || lacks "python3 with $absent: $1"
}
python_version() { python3 -c 'import sys; print("%d.%d" % sys.version_info[:2])'; }
node_is_new() { [[ $(node --version 2> /dev/null) =~ ^v([0-9]+) ]] && [ "${BASH_REMATCH[1]}" -ge 24 ]; }
look_for_needs() {
  local least=1 packed_for
  case $part in
    data) least=0 ;;
    parity) least=4 ;;
    *-?gpu) least=${part: -4:1} ;;
  esac
  [ "${#gpus[@]}" -ge "$least" ] ||
    lacks "GPUs, $least where nvidia-smi and CUDA_VISIBLE_DEVICES show ${#gpus[@]}: name parts for so many"
  case $part in floor-* | gate-* | gpt2-* | fp16-* | recipe-* | plan-?gpu | ladder-*)
    node_is_new || lacks "Node 24 or newer on PATH: npm run setup installs it in node_modules" ;;
  esac
  python_has "pip install torch numpy h5py pyyaml jaxtyping" torch numpy h5py yaml jaxtyping
  case $part in
    ladder-*) [ -e lib/cli.js ] || lacks "lib/cli.js: npm run setup makes it" ;;
    rivals-*) python_has "pip install lightning accelerate" lightning accelerate ;;
    gpt2-*) python_has "pip install transformers accelerate" transformers accelerate ;;
    ways-in-*)
      python_has "pip install transformers accelerate lightning tensorboard" transformers accelerate lightning tensorboard
      ;;
    breakdown-* | plan-parts-*) python_has "pip install --group benchmarks/pyproject.toml:benchmarks" matplotlib ;;
    learning)
      with_pack python_has "pip install --group benchmarks/pyproject.toml:benchmarks, or, for neuralop, a pack: benchmarks/harness/pack.sh FILE $(python_version)" \
        matplotlib neuralop
      packed_for=$(cat .packages/python-version 2> /dev/null) || packed_for=$(python_version)
      [ "$packed_for" = "$(python_version)" ] ||
        lacks "a pack for Python $(python_version), where .packages is for $packed_for: benchmarks/harness/pack.sh FILE $(python_version)"
      ;;
  esac
}

waiting=()
for part in "${parts[@]}"; do
  [ -e "$out/$part.done" ] || waiting+=("$part")
done
there=$(nvidia-smi --query-gpu=index --format=csv,noheader 2> /dev/null | paste -sd,) || there=
IFS=, read -ra gpus <<< "${there:+${CUDA_VISIBLE_DEVICES-$there}}"
for part in "${waiting[@]}"; do look_for_needs; done
for need in "${!missing[@]}"; do echo "$0:${missing[$need]}: needs $need" >&2; done
[ ${#missing[@]} -eq 0 ] || exit 2

# A training that finds no bytecode of torch compiles a thousand modules at its start, for seconds.
unset PYTHONDONTWRITEBYTECODE
packages=$(python3 -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
[ -w "$packages" ] ||
  export PYTHONPYCACHEPREFIX="${PYTHONPYCACHEPREFIX:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/python-bytecode}"

mkdir -p "$out"
exec 9> "$out/lock" # open in all that it launches: what outlives a killed call still has the GPUs
if ! flock -n 9; then
  echo "$0: another call is at work in $out, or what it launched; wait, or end what fuser $out/lock names" >&2
  exit 2
fi

commit=$(git describe --always --abbrev=40 --dirty '--exclude=*' 2> /dev/null) || commit=unknown
measured=$(cat "$out/commit" 2> /dev/null) || measured=$commit
if [ "$measured" != "$commit" ]; then
  echo "$0: $out has measurements of $measured, and this is $commit: name another folder, or, where nothing" \
    "that they depend on has changed, write that into $out/commit" >&2
  exit 2
fi
echo "$commit" > "$out/commit"

# An experiment that was judged by whole launches is done, passed or not; after any other the machine has to
# be looked at.
is_judged() {
  grep -qsxE 'passed|failed|inconclusive' "$out/$1/outputs.txt" && python3 -c 'import json, sys
checks = json.load(open(sys.argv[1]))["verdict"]["checks"]
sys.exit({check["name"]: check["status"] for check in checks}["completion"] != "passed")' "$out/$1/result.json"
}
failed=0
set -m # a part has a process group of its own, which ends with this script
running=
trap '[ -z "$running" ] || { kill -TERM -- "-$running"; wait "$running"; }; exit 143' TERM INT HUP
for part in "${waiting[@]}"; do
  started=$SECONDS
  verdict=0
  measure "$part" > "$out/$part.log" 2>&1 &
  running=$!
  wait "$running" || verdict=$?
  echo "$part: exit $verdict after $((SECONDS - started)) s"
  if [ $verdict -eq 0 ] || is_judged "$part"; then
    touch "$out/$part.done"
    [ ! -e "$out/$part/report.md" ] || echo "$part: $(sed -n '1s/^## //p' "$out/$part/report.md"), see $out/$part/report.md"
  else
    echo "$part: not done, see $out/$part.log" >&2
    failed=1
  fi
done
exit $failed
