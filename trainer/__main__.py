"""`python -m trainer`: starts the clock, then the command line."""

import sys

from trainer.process.clock import start_process_clock

start_process_clock()

from trainer.cli import main  # noqa: E402 - the clock must start before anything heavy is imported
from trainer.process.exit import end_at_once  # noqa: E402

if __name__ == "__main__":
    end_at_once(main(sys.argv[1:]))
