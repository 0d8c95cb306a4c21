"""Models of other frameworks as graphs, one package a framework."""

from tilewright.relax.frontend.parameters import detach_params
