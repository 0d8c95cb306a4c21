"""What happens to each candidate after its trace."""

from tilewright.tune.postproc import *  # noqa: F403
from tilewright.tune.postproc import Postproc

PyPostproc = Postproc
