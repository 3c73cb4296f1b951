#!/usr/bin/env bash
# Runs experiments through dist/index.js with the environment that GitHub's runner gives to a step, but without
# GitHub: there is no token, so comment and check are left out, and the artifact is the folder.
#
#   benchmarks/harness/through-the-action.sh OUT EXPERIMENT... [-- INPUT=VALUE ...]
#   benchmarks/harness/through-the-action.sh out/gate configs/experiments/two-task-4gpu.yaml -- blocks=4 python=python3
#
# Needs Node 24 and Python with torch. Inputs are those of action.yml. OUT gets what the step leaves: result.json,
# report.md, every launch, outputs and the job summary. Exits as the step does.
set -euo pipefail
if [ $# -lt 2 ] || [ "$2" = -- ]; then
  echo "usage: $0 OUT EXPERIMENT... [-- INPUT=VALUE ...]; got: $*" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/../.." && pwd)
out=$1
if [[ -z $out || $out == /* || /$out/ == */../* ]]; then
  echo "$0: OUT is a folder in the repository, relative to its root, such as out/gate; got $out" >&2
  exit 2
fi
shift
experiments=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  experiments+=("$1")
  shift
done
[ $# -eq 0 ] || shift
mkdir -p "$root/$out"
step=$(mktemp -d)
trap 'rm -rf "$step"' EXIT
set -m # the step has a process group of its own, so that a signal reaches it once: from here
trap 'kill $(jobs -p) 2> /dev/null || exit 143' TERM INT HUP
printf '{"inputs":{}}' > "$step/event.json"
touch "$step/outputs" "$step/summary" "$step/state" "$step/environment"
inputs=("INPUT_EXPERIMENT=$(printf '%s\n' "${experiments[@]}")" "INPUT_OUT=$out" "INPUT_WORKING-DIRECTORY=." INPUT_JOB=measure INPUT_REPORT=artifact)
for input in "$@"; do
  name=${input%%=*}
  inputs+=("INPUT_$(tr '[:lower:]' '[:upper:]' <<< "$name")=${input#*=}")
done
env "${inputs[@]}" \
  GITHUB_ACTIONS=true CI=true GITHUB_WORKSPACE="$root" RUNNER_TEMP="$step" RUNNER_OS=Linux RUNNER_NAME=here \
  GITHUB_REPOSITORY=speedproof/speedproof GITHUB_RUN_ID=1 GITHUB_RUN_ATTEMPT=1 GITHUB_RUN_NUMBER=1 GITHUB_JOB=measure \
  GITHUB_SHA="$(git -C "$root" rev-parse HEAD 2> /dev/null || printf 'f%.0s' {1..40})" GITHUB_REF=refs/heads/main \
  GITHUB_SERVER_URL=https://github.com GITHUB_API_URL=https://api.github.com \
  GITHUB_EVENT_NAME=workflow_dispatch GITHUB_EVENT_PATH="$step/event.json" GITHUB_OUTPUT="$step/outputs" \
  GITHUB_STEP_SUMMARY="$step/summary" GITHUB_STATE="$step/state" GITHUB_ENV="$step/environment" \
  node "$root/dist/index.js" < /dev/null &
while [ -n "$(jobs -pr)" ]; do wait $! || true; done # a signal ends the waiting, not the step
verdict=0
wait $! || verdict=$?
cp "$step/outputs" "$root/$out/outputs.txt"
cp "$step/summary" "$root/$out/summary.md"
exit $verdict
