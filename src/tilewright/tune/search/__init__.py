"""Search strategies: which candidates of a space the tuner measures."""

from tilewright.tune.search.droplet import DropletSearch
from tilewright.tune.search.evolutionary_search import EvolutionarySearch
from tilewright.tune.search.genetic import GeneticSearch
from tilewright.tune.search.refinement import LocalRefinement
from tilewright.tune.search.search_strategy import SearchStrategy
from tilewright.tune.search.unguided import GridSearch, ReplayFunc, ReplayTrace
