"""Ways to choose candidates of a space."""

from tilewright.tune.candidate import MeasureCandidate as MeasureCandidate
from tilewright.tune.search import *  # noqa: F403
from tilewright.tune.search import SearchStrategy

PySearchStrategy = SearchStrategy
create = SearchStrategy.create
