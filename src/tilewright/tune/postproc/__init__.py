"""What happens to each candidate after its trace: postprocessors, one file each."""

import tilewright.tune.postproc.defaults
from tilewright.tune.postproc.postproc import Postproc
