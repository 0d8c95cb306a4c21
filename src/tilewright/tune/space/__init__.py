"""Where the tuner looks: from a program to sketches of schedules."""

from tilewright.tune.space.space_generator import SpaceGenerator
