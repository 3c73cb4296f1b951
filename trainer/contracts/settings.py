"""Types of settings that carry their range; each range says what it expects in words."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated


@dataclass(frozen=True)
class AtLeast:
    low: float

    def holds(self, value: float) -> bool:
        return value >= self.low

    def words(self) -> str:
        return f"at least {self.low}"


@dataclass(frozen=True)
class MoreThan:
    low: float

    def holds(self, value: float) -> bool:
        return value > self.low

    def words(self) -> str:
        return f"more than {self.low}"


@dataclass(frozen=True)
class Between:
    """low <= value < high."""

    low: float
    high: float

    def holds(self, value: float) -> bool:
        return self.low <= value < self.high

    def words(self) -> str:
        return f"at least {self.low} and less than {self.high}"


@dataclass(frozen=True)
class NotEmpty:
    def holds(self, value: Sequence[object]) -> bool:
        return len(value) > 0

    def words(self) -> str:
        return "with at least one entry"


@dataclass(frozen=True)
class NoFolder:
    def holds(self, value: str) -> bool:
        return "/" not in value

    def words(self) -> str:
        return "without a folder, since files lie directly in data.root"


Range = AtLeast | MoreThan | Between | NotEmpty | NoFolder

Count = Annotated[int, AtLeast(1)]
CountOrZero = Annotated[int, AtLeast(0)]
Positive = Annotated[float, MoreThan(0)]
Seconds = Annotated[float, Between(0.001, 1e6)]  # torch counts milliseconds in 32 bits
Weight = Annotated[float, AtLeast(0)]
Decay = Annotated[float, Between(0, 1)]
FilePattern = Annotated[str, NoFolder()] | None  # file name with * and ?; None: any
AveragedUpdates = Annotated[float, Between(0.1, 1e6)]  # whose decay is neither 0 nor 1
