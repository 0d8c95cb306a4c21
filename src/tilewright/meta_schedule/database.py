"""Workloads and the records of their candidates."""

from tilewright.tune.database import *  # noqa: F403
from tilewright.tune.database import Database
from tilewright.tune.module_equality import ModuleEquality as ModuleEquality
from tilewright.tune.workload import Workload as Workload

PyDatabase = Database
create = Database.create
