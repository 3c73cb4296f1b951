#!/usr/bin/env bash
# Packs what on-gpus.sh needs on a GPU host without a network: Node and the command line in one file, and where the
# host's version of Python is given, the library FNO of the part learning with what it needs, twice as large. The
# host has Python with torch, numpy, h5py, pyyaml and jaxtyping itself, with matplotlib for the parts breakdown,
# plan-parts and learning, and lightning and accelerate for rivals.
#
#   benchmarks/harness/pack.sh FILE.tar.xz [PYTHON]   here, after npm run setup; PYTHON such as 3.12
#   tar -xf FILE.tar.xz                       there, in the repository's root; same architecture as here
set -euo pipefail
if [ $# -lt 1 ] || [ $# -gt 2 ] || [[ $1 == -* ]]; then
  echo "usage: $0 FILE.tar.xz [PYTHON]; got: $*" >&2
  exit 2
fi
if [ $# -eq 2 ] && [[ ! $2 =~ ^3\.[0-9]+$ ]]; then
  echo "$0: PYTHON: got \"$2\", expected the host's version such as 3.12" >&2
  exit 2
fi
file=$(realpath -m -- "$1")
cd "$(dirname "$0")/../.."
if [ ! -e node_modules/.bin/ncc ] || [ ! -e node_modules/.bin/node ] || [ ! -e .venv/bin/uv ]; then
  echo "$0: needs node_modules/.bin/ncc and node and .venv/bin/uv: npm run setup makes them" >&2
  exit 2
fi
made=$(mktemp -d)
trap 'rm -rf "$made" "$file.part"' EXIT
packed=(node_modules lib)
if [ $# -eq 2 ]; then
  packed+=(.packages)
  # The host has the first five itself. wandb is for the library's trainer, which brought it requests too.
  for package in torch numpy h5py pyyaml matplotlib wandb; do echo "$package; sys_platform == 'none'"; done > "$made/not"
  fno=$(sed -nE 's/.*"(neuraloperator==[^"]+)".*/\1/p' benchmarks/pyproject.toml)
  if ! .venv/bin/uv pip install --quiet --target "$made/.packages" --python-version "$2" --override "$made/not" \
    "$fno" requests; then
    echo "$0: PYTHON: uv cannot install $fno for $2, for the reason above; name the host's version such as 3.12," \
      "or mend that" >&2
    exit 1
  fi
  echo "$2" > "$made/.packages/python-version"
fi
mkdir -p "$made/node_modules/.bin" "$made/lib"
cp -L node_modules/.bin/node "$made/node_modules/.bin/"
node_modules/.bin/tsc -p tsconfig.build.json
node_modules/.bin/ncc build lib/cli.js --no-cache --quiet -o "$made/cli"
mv "$made/cli/index.js" "$made/lib/cli.js"
mkdir -p "$(dirname "$file")"
tar -C "$made" -c "${packed[@]}" | xz -T0 > "$file.part"
mv "$file.part" "$file"
