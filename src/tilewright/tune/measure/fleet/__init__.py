"""Building and timing candidates on many machines.

::

    tuner's process                                        machine of the fleet
    FleetBuilder, FleetRunner
          │ tasks, files as bytes
          ▼
        Pool ── calls ──> Cluster ═══ network ═══> Host ─> BuildWorker ─> LocalBuilder ─> children
    (what runs where,    (Ray, or               (process)  RunWorker   ─> LocalRunner  ─> child
     what is repeated)    a simulation)

A worker does on its machine what the tuner does on one: its `LocalBuilder` or `LocalRunner` has
children that can be killed, with limits of time. A `Pool` shares tasks among its workers, replaces
workers that die or hang, and has their tasks done elsewhere. It knows no more of the system that
starts processes on other machines than `Cluster` says; `ray_cluster` does that with Ray.

Pools are written for asyncio and run in a thread of their own. In a simulation the same code runs
by a clock that does not wait.
"""

from tilewright.tune.measure.fleet.fleet_builder import FleetBuilder
from tilewright.tune.measure.fleet.fleet_runner import FleetRunner
from tilewright.tune.measure.fleet.pool import Pool
