"""How the tuner looks: which candidates of a space it measures."""

from tilewright.tune.search.search_strategy import SearchStrategy
