"""The knobs of templates, and the configs that they make."""

from tilewright.autotvm.task.space.annotate import AnnotateEntity, AnnotateSpace
from tilewright.autotvm.task.space.axis import VirtualAxis
from tilewright.autotvm.task.space.config import Config
from tilewright.autotvm.task.space.config_entity import ConfigEntity
from tilewright.autotvm.task.space.config_space import ConfigSpace
from tilewright.autotvm.task.space.fallback import FallbackConfigEntity
from tilewright.autotvm.task.space.knob import (
    Entity,
    OtherOptionEntity,
    OtherOptionSpace,
    TransformSpace,
)
from tilewright.autotvm.task.space.reorder import ReorderEntity, ReorderSpace
from tilewright.autotvm.task.space.split import SplitEntity, SplitSpace
from tilewright.error import InstantiationError
