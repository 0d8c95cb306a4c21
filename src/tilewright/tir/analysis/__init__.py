"""Questions about tensor programs."""

from tilewright.tir.analysis.verify import verify_well_formed
