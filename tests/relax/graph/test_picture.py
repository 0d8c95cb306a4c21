"""Pictures of graphs."""

import itertools
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from tests.relax.builders import array, module_of, negative, twice

from tilewright import relax, te
from tilewright.error import ArgumentError
from tilewright.ir import Var as Size
from tilewright.relax import op
from tilewright.relax.graph.model import Graph, Kind

SVG = "{http://www.w3.org/2000/svg}"


def model():
    """A residual network of a few layers."""
    n = Size("n", "int64")
    x, w = relax.Var("x", array(n, 4)), relax.Var("w", array(4, 4))

    def make(builder):
        with builder.dataflow():
            value = x
            for _ in range(3):
                weights = relax.const(np.zeros((4, 4), "float32"))
                linear = op.call_dps_packed("env.linear", (value, weights, w), array(n, 4))
                value = builder.emit(op.call_dps_packed("add", (linear, value), array(n, 4)))
            pair = builder.emit(
                op.call_dps_packed("split", (value,), [array(n, 2), array(n, 2, dtype="int8")])
            )
            return builder.emit_output(relax.Tuple([pair[1], twice(pair[0])]))

    return module_of([x, w], make)


def elements(picture, tag):
    return list(ElementTree.fromstring(picture.svg).iter(SVG + tag))


def rectangles(picture):
    found = []
    for group in elements(picture, "g"):
        rect = group.find(SVG + "rect")
        x, y, width, height = (float(rect.get(key)) for key in ("x", "y", "width", "height"))
        found.append((x, y, x + width, y + height))
    return found


def test_operations_are_boxes_and_arrays_are_arrows():
    graph = Graph(model()["main"])
    titles = [box.title for box in graph.boxes]
    assert titles == ["x", "w", *["env.linear", "add"] * 3, "split", "test.twice", "return"]
    assert [box.kind for box in graph.boxes].count(Kind.INPUT) == 2
    linear = graph.boxes[2]
    assert linear.details == ["constant (4, 4)"]
    names = [(a.source.title, a.target.title) for a in graph.arrows if a.source is graph.boxes[0]]
    assert names == [("x", "env.linear"), ("x", "add")]
    split = graph.boxes[-3]
    assert split.ports == {(0,): "(n, 2)", (1,): "(n, 2) int8"}


def test_nothing_overlaps():
    picture = model().graph()
    boxes = rectangles(picture)
    assert len(boxes) == 11
    for a, b in itertools.combinations(boxes, 2):
        assert a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]
    width, height = (float(elements(picture, "svg")[0].get(key)) for key in ("width", "height"))
    assert all(a[0] > 0 and a[1] > 0 and a[2] < width and a[3] < height for a in boxes)


def test_texts_of_arrows_are_outside_of_boxes():
    picture = model().graph()
    outside = [e for e in ElementTree.fromstring(picture.svg) if e.tag == SVG + "text"]
    assert {"(n, 4)", "(n, 2) int8"} <= {text.text for text in outside}
    for text in outside:
        x, y = float(text.get("x")), float(text.get("y"))
        right = x + len(text.text) * 6.7
        for left, top, box_right, bottom in rectangles(picture):
            assert right < left or x > box_right or y < top or y - 11 > bottom


def test_arrows_end_at_boxes():
    picture = model().graph()
    arrows = [path for path in elements(picture, "path") if path.get("marker-end")]
    assert len(arrows) == len(Graph(model()["main"]).arrows)
    for arrow in arrows:
        x, y = map(float, arrow.get("d").split()[-1].split(","))
        assert any(
            left <= x <= right and abs(y - top) < 0.2 for left, top, right, _ in rectangles(picture)
        )


def test_notebooks_and_files(tmp_path):
    picture = model()["main"].graph()
    assert picture._repr_svg_().startswith("<svg")
    assert picture.svg in picture._repr_html_()
    picture.save(tmp_path / "model.svg")
    assert (tmp_path / "model.svg").read_text() == picture.svg


def test_branches_checks_and_kernels_are_boxes():
    x, c = relax.Var("x", array(2)), relax.Var("c", array(dtype="bool"))

    def make(builder):
        added = builder.emit_te(lambda a: te.compute((2,), lambda i: a(i) + 1.0), x,
                                primfunc_name_hint="add_one")  # fmt: skip
        cast = builder.match_cast(added, array(Size("m", "int64")))
        return relax.If(c, negative(cast), cast)

    graph = Graph(module_of([x, c], make)["main"])
    assert [box.title for box in graph.boxes[2:]] == ["add_one", "match_cast", "if", "return"]


def test_equal_constants_are_counted():
    x, constant = relax.Var("x", array(2)), relax.const(np.zeros(2, "float32"))
    operands = (x, constant, constant, relax.const(1.0), constant)
    graph = Graph(
        module_of([x], lambda builder: op.call_dps_packed("norm", operands, array(2)))["main"]
    )
    assert graph.boxes[1].details == ["2 x constant (2,)", "constant ()", "constant (2,)"]


def test_only_graph_functions_have_a_picture():
    a = te.placeholder((2,), name="a")
    kernel = te.create_prim_func([a, te.compute((2,), lambda i: a(i))])
    from tilewright.ir import IRModule

    with pytest.raises(ArgumentError, match="this is a PrimFunc"):
        IRModule({"main": kernel}).graph()
