"""Types of settings that carry their range."""

from typing import Annotated

from trainer.ranges import AtLeast, Between, MoreThan

Count = Annotated[int, AtLeast(1)]
CountOrZero = Annotated[int, AtLeast(0)]
Positive = Annotated[float, MoreThan(0)]
Seconds = Annotated[float, Between(0.001, 1e6)]  # torch counts milliseconds in 32 bits
Weight = Annotated[float, AtLeast(0)]
Decay = Annotated[float, Between(0, 1)]
AveragedUpdates = Annotated[float, Between(0.1, 1e6)]  # whose decay is neither 0 nor 1
