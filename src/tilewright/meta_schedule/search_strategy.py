"""Ways to choose candidates of a space."""

from tilewright.tune.candidate import MeasureCandidate
from tilewright.tune.search import SearchStrategy

PySearchStrategy = SearchStrategy
create = SearchStrategy.create

__all__ = ["MeasureCandidate", "PySearchStrategy", "SearchStrategy", "create"]
