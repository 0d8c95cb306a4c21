"""Transforming tensor programs step by step, each step proved and recorded."""

from tilewright.tir.schedule.errors import ScheduleError
from tilewright.tir.schedule.schedule import Schedule
from tilewright.tir.schedule.state import ScheduleState, StmtSRef
from tilewright.tir.schedule.symbols import BlockRV, ExprRV, LoopRV
from tilewright.tir.schedule.traces.instruction import Instruction, InstructionKind
from tilewright.tir.schedule.traces.trace import Trace
