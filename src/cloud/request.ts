// What is asked of dstack: one machine that runs GitHub's runner program for one job.
import { GRACEFUL_STOP_MINUTES, type Limits, NO_JOB_MINUTES } from './limits.ts'

export interface Wish extends Limits {
  /** As dstack writes it: H100, or H100:2. */
  readonly gpu: string
  /** Empty leaves it to the server. */
  readonly backends: readonly string[]
  readonly regions: readonly string[]
  /** Null takes dstack's own. */
  readonly image: string | null
  readonly diskGb: number
  readonly fleet: string
  /** May the machine be a private person's? */
  readonly communityCloud: boolean
}

/** GitHub's runner program, as GitHub itself names it, and what makes this machine a runner for one job. */
export interface RunnerProgram {
  readonly url: string
  readonly sha256: string
  /** Good for one job; it registers nothing else. */
  readonly jitConfig: string
}

export interface RunSpec {
  readonly run_name: string
  readonly configuration: Readonly<Record<string, unknown>>
}

/** Without a runner it can be asked for offers, and not be started. */
export function runSpec(name: string, wish: Wish, runner: RunnerProgram | null): RunSpec {
  const configuration = {
    type: 'task',
    name,
    ...(wish.image === null ? {} : { image: wish.image }),
    // Named, else the server asks the image's registry for them. GitHub's runner program below is the one for x64.
    user: 'root',
    resources: {
      cpu: { arch: 'x86', count: { min: 2 } },
      gpu: wish.gpu,
      disk: { size: { min: wish.diskGb } },
    },
    commands: [RUNNER_SCRIPT],
    env: runner === null ? {} : environmentOf(runner),
    fleets: [wish.fleet],
    ...(wish.backends.length === 0 ? {} : { backends: wish.backends }),
    ...(wish.regions.length === 0 ? {} : { regions: wish.regions }),
    spot_policy: 'on-demand',
    retry: false,
    max_price: wish.maxPricePerHour,
    max_duration: Math.round(wish.maxMinutes * 60),
    stop_duration: GRACEFUL_STOP_MINUTES * 60,
    idle_duration: 0,
    // No utilization_policy: a GPU that compiles, or waits for the other variant's launch, is idle for minutes.
  }
  return { run_name: name, configuration }
}

function environmentOf({ url, sha256, jitConfig }: RunnerProgram): Record<string, string> {
  return {
    SPEEDPROOF_RUNNER_URL: url,
    SPEEDPROOF_RUNNER_SHA256: sha256,
    SPEEDPROOF_NO_JOB_SECONDS: String(NO_JOB_MINUTES * 60),
    /** The runner program takes its arguments from such variables, and removes them for its jobs. */
    ACTIONS_RUNNER_INPUT_JITCONFIG: jitConfig,
    RUNNER_ALLOW_RUNASROOT: '1',
    /** Else it needs libicu, which images do not have. */
    DOTNET_SYSTEM_GLOBALIZATION_INVARIANT: '1',
    /** The report says that other tenants of the host cannot be seen. */
    SPEEDPROOF_RENTED: '1',
  }
}

/** For any POSIX shell. The worker's log is there as soon as a job has come. */
const RUNNER_SCRIPT = [
  'set -eu',
  'folder="$HOME/actions-runner"',
  'mkdir -p "$folder"',
  'cd "$folder"',
  'curl --fail --silent --show-error --location --retry 3 --max-time 600 --output runner.tar.gz "$SPEEDPROOF_RUNNER_URL"',
  'echo "$SPEEDPROOF_RUNNER_SHA256  runner.tar.gz" | sha256sum --check --quiet',
  'tar -xzf runner.tar.gz',
  'waited=0',
  './run.sh &',
  'runner=$!',
  'has_job() { ls _diag/Worker_* > /dev/null 2>&1; }',
  'while ! has_job && kill -0 "$runner" 2> /dev/null; do',
  '  if [ "$waited" -ge "$SPEEDPROOF_NO_JOB_SECONDS" ]; then',
  '    echo "no job came in $SPEEDPROOF_NO_JOB_SECONDS s: this machine ends itself"',
  '    kill "$runner"',
  '    exit 1',
  '  fi',
  '  sleep 1',
  '  waited=$((waited + 1))',
  'done',
  'wait "$runner"',
].join('\n')
