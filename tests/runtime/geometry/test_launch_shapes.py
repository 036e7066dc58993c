"""Launch shapes: plan and device agree on fields, answers fit the device, and one more is added."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any, NamedTuple, get_type_hints

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runelift
from runelift.codegen.hostplan import dispatch
from runelift.codegen.kernel import launch_builder as launches
from runelift.codegen.kernel.kernel_builder import op
from runelift.codegen.plan.parameters import Quantity
from runelift.codegen.plan.shapes import ANSWER, NO_WISH, Answer, Setting, Shape
from runelift.ir import imp
from runelift.ir.constraints import Constraint, at_least
from runelift.ir.names import VName
from runelift.ir.prim import Prim
from runelift.ir.sizes import Size, ceil_div
from runelift.ir.syntax import SegMap
from runelift.runtime.devices.limits import NEVER, ShareLimits
from runelift.runtime.geometry import scan_tile
from runelift.runtime.geometry.group_shape import GROUP_SHAPE, GroupShapeRequest
from runelift.runtime.geometry.launch_geometry import SHAPES
from runelift.runtime.geometry.map_width import MAP_WIDTH, MapWidthRequest
from runelift.runtime.geometry.product_tile import PRODUCT_TILE, ProductTileRequest, slab_width
from runelift.runtime.geometry.scan_tile import SCAN_TILE, ScanTileRequest
from runelift.runtime.geometry.segment_block import SEGMENT_BLOCK, SegmentBlockRequest
from runelift.runtime.geometry.segment_team import SEGMENT_TEAM, SegmentTeamRequest
from runelift.runtime.geometry.shape import Geometry, GeometryLimits, Place, power_of_two_below
from runelift.runtime.geometry.strip import STRIP, StripRequest
from runelift.runtime.geometry.subgroup_size import SUBGROUP_SIZE, SubGroupSizeRequest
from runelift.runtime.geometry.team_count import TEAM_COUNT, TeamCountRequest
from runelift.runtime.geometry.transpose_tile import TRANSPOSE_TILE, TransposeTileRequest


def answer_of(geometry: Geometry[Any, Any]) -> Any:
    """The named tuple of the answers."""
    return get_type_hints(geometry.choose)["return"]


@pytest.mark.parametrize("geometry", SHAPES.values(), ids=list(SHAPES))
def test_plan_and_device_agree(geometry: Geometry[Any, Any]) -> None:
    """The fields of requests and answers, and their defaults, are those of the shape."""
    shape, request = geometry.shape, get_type_hints(geometry.choose)["asked"]
    answers = shape.fields_of(ANSWER)
    assert answer_of(geometry)._fields == answers
    asked = {each.name: each.default for each in fields(shape) if each.name not in answers}
    assert {*request._fields} - {"changing"} == asked.keys()
    for name, default in asked.items():
        if default is not MISSING:  # plans leave it out
            assert request._field_defaults[name] == (0 if default == NO_WISH else default)
    assert {*geometry.optional} <= {*answers}


# Answers fit the device

powers = st.integers(0, 8).map(lambda n: 1 << n)
sizes = st.one_of(st.integers(0, 20), st.integers(0, 5000), st.integers(0, 1 << 22))
wishes = st.one_of(st.just(0), powers)


@st.composite
def devices(draw: st.DrawFn) -> GeometryLimits:
    """The limits of any device."""
    most, staged = 1 << draw(st.integers(6, 11)), draw(st.booleans())
    chunk = 1 << draw(st.integers(0, 5))
    return GeometryLimits(
        ShareLimits(min(most, draw(powers)), min(most, draw(powers)), most, chunk,
                    chunk << draw(st.integers(0, 3)), staged, 1 << draw(st.integers(0, 10)),
                    draw(st.sampled_from([0, 10, 132])), window=draw(powers), patience=100,
                    columns=0 if staged else 1 << draw(st.integers(2, 6)), together=draw(powers),
                    subgroup=draw(st.sampled_from([1, 16, 32])),
                    crew=draw(st.sampled_from([NEVER, 1 << 13])),
                    short=draw(st.sampled_from([NEVER, 4]))),
        units=draw(st.integers(1, 200)), num_groups=draw(st.sampled_from([8, 1056])),
        max_group=most, local_bytes=draw(st.sampled_from([1 << 12, 48 << 10, 1 << 20])))


@given(devices(), st.builds(
    GroupShapeRequest, sizes, st.lists(sizes, max_size=3).map(tuple),
    st.lists(sizes, max_size=2).map(tuple),
    st.lists(st.tuples(sizes, sizes), max_size=2).map(tuple), wishes, wishes, st.booleans(),
    st.integers(0, 2), st.booleans()))
def test_chunks_hold_all_points(limits: GeometryLimits, asked: GroupShapeRequest) -> None:
    found = GROUP_SHAPE.choose(asked, limits)
    assert found.group <= limits.max_group
    assert len(found.chunks) == len(asked.points)
    for chunk, points in zip(found.chunks, asked.points, strict=True):
        if found.group:
            assert chunk.size <= limits.shares.max_chunk
            assert found.group * chunk.size >= points
            assert bool(chunk.whole) == (found.group * chunk.size == points)
    assert found.subgroup <= limits.shares.subgroup
    again = GROUP_SHAPE.choose(asked._replace(changing=tuple(range(len(asked.points)))), limits)
    assert (again.group, [0] * len(again.chunks)) == (found.group, [c.whole for c in again.chunks])


@given(devices(), powers, sizes, st.integers(0, 1 << 16), wishes, st.integers(0, 2))
def test_teams_have_room(limits: GeometryLimits, group: int, groups: int, room: int, wanted: int,
                         independent: int) -> None:
    found = TEAM_COUNT.choose(TeamCountRequest(group, groups, room, wanted, independent), limits)
    assert found.teams == 1 or found.teams * group <= limits.max_group
    assert found.teams == 1 or found.teams * room <= limits.local_bytes
    assert bool(found.even) == (groups % found.teams == 0)


@given(devices(), powers, sizes)
def test_sub_groups_divide_groups(limits: GeometryLimits, group: int, rows: int) -> None:
    (subgroup,) = SUBGROUP_SIZE.choose(SubGroupSizeRequest(group), limits)
    assert group % subgroup == 0
    assert subgroup in (1, limits.shares.subgroup)


@given(devices(), sizes, sizes, st.integers(1, 64), st.booleans(), powers, wishes)
def test_widths_are_possible(limits: GeometryLimits, rows: int, beside: int, size: int,
                             shares: bool, most: int, wanted: int) -> None:
    asked = MapWidthRequest(rows * beside, rows, beside, size, shares, most, wanted)
    found = MAP_WIDTH.choose(asked, limits)
    assert found.width == power_of_two_below(found.width) <= most
    assert found.width == 1 or found.width <= (asked.points if found.flat else rows)


@given(devices(), sizes, st.integers(1, 300), wishes, wishes)
def test_tiles_of_scans_have_room(limits: GeometryLimits, points: int, size: int, group: int,
                                  chunk: int) -> None:
    found = SCAN_TILE.choose(ScanTileRequest(points, size, group, chunk), limits)
    assert found.window <= found.group
    assert not found.staged or found.group == 1 or (
        scan_tile._tile_bytes(found.group, found.chunk, size) <= limits.local_bytes)
    assert bool(found.patience) == (points > found.group * found.chunk)


@given(devices(), sizes, sizes, st.integers(1, 3), sizes, st.lists(wishes, min_size=6, max_size=6))
def test_blocks_of_products_have_room(limits: GeometryLimits, height: int, width: int, batch: int,
                                      length: int, wanted: list[int]) -> None:
    asked = ProductTileRequest(height, width, batch, length, (4, 8), *wanted)
    found = PRODUCT_TILE.choose(asked, limits)
    if found.rows:
        assert found.group == found.side * found.across <= limits.max_group
        assert found.slabs * found.depth * slab_width(
            asked.bytes, (found.side, found.across), (found.rows, found.columns)
        ) <= limits.local_bytes
        assert found.side * found.rows <= height
        assert found.across * found.columns <= width


@given(devices(), sizes, sizes, sizes, st.booleans(), powers,
       st.lists(wishes, min_size=4, max_size=4), st.booleans(), st.integers(0, 2))
def test_blocks_of_segments_have_room(
        limits: GeometryLimits, height: int, width: int, length: int, slides: bool, group: int,
        wanted: list[int], roots: bool, loops: int) -> None:
    asked = SegmentBlockRequest(height, width, 2, length, slides, 8, group, *wanted, roots=roots,
                                loops=loops)
    found = SEGMENT_BLOCK.choose(asked, limits)
    if found.points:
        assert found.group == found.across * found.split <= limits.max_group
        assert found.points == 1 or found.points <= (height or width // found.across)
        assert found.cells == found.points * found.steps
        assert 1 in (found.split, found.points) or (
            found.points * found.group * asked.bytes < limits.local_bytes)


@given(devices(), sizes, sizes, st.integers(1, 300), st.booleans(), powers, wishes)
def test_teams_of_segments_have_room(limits: GeometryLimits, segments: int, elements: int,
                                     size: int, alone: bool, group: int, lanes: int) -> None:
    found = SEGMENT_TEAM.choose(
        SegmentTeamRequest(segments, elements, size, alone, group, lanes), limits)
    assert 1 <= found.lanes <= found.group <= min(limits.max_group, max(group, 1))
    assert {power_of_two_below(found.group), power_of_two_below(found.lanes)} == {*found}
    assert found.group == 1 or found.group * size <= limits.local_bytes
    assert not alone or found.lanes == found.group


@given(devices(), st.builds(StripRequest, sizes, sizes, st.integers(1, 3), sizes))
def test_strips_lie_within_rows(limits: GeometryLimits, asked: StripRequest) -> None:
    found = STRIP.choose(asked, limits)
    assert found.columns <= asked.width
    assert found.cells == found.rows * found.columns
    assert found.pieces >= 1


@given(devices(), sizes, sizes, st.sampled_from([1, 2, 4, 8, 16]), powers)
def test_tiles_of_copies_lie_within_matrices(limits: GeometryLimits, fast: int, last: int,
                                             size: int, group: int) -> None:
    found = TRANSPOSE_TILE.choose(TransposeTileRequest(fast, last, size, group), limits)
    if found.height:
        assert found.height <= fast
        assert found.width <= last
        assert found.pitch >= found.height


# A shape of a test, added as CONTRIBUTING.md says


@dataclass(frozen=True, slots=True)
class Stretches(Shape):
    """``stretch`` := the number of neighbouring points that a work-item has, of ``points``."""

    stretch: Answer
    points: Size
    wanted_stretch: Setting = NO_WISH


class StretchesRequest(NamedTuple):
    """The fields of Stretches as numbers."""

    points: int
    wanted_stretch: int = 0


class StretchesAnswer(NamedTuple):
    """The number of points of a work-item."""

    stretch: int


def choose_stretch(asked: StretchesRequest, limits: GeometryLimits) -> StretchesAnswer:
    """So many points that each compute unit has some, if none are wanted."""
    return StretchesAnswer(asked.wanted_stretch or max(1, asked.points // limits.units))


def stretch_constraints(step: Stretches, shares: ShareLimits, place: Place
                        ) -> Iterator[Constraint]:
    if isinstance(step.wanted_stretch, VName):
        yield at_least(Size.of(5), Size.var(step.wanted_stretch), "short stretches",
                       place.operation, span=place.span)


def stretch_values(step: Stretches, shares: ShareLimits) -> Mapping[str, Sequence[int]]:
    return {"wanted_stretch": [1, 3, 5, 7]}


STRETCHES = Geometry(Stretches, StretchesRequest, choose_stretch, constraints=stretch_constraints,
                     values=stretch_values)


def lower_stretches(lowering: launches.Lowering, exp: SegMap) -> None:
    """A work-item for each stretch of a map in one dimension."""
    points = launches.total(lowering, exp.space)
    shape = Stretches(lowering.names.fresh("stretch"), points, lowering.setting(Quantity.WIDTH))
    lowering.steps.append(shape)
    k = lowering.builder()
    k.constants = [lowering.group_size, shape.stretch]  # the size of groups is the first
    (dim,) = exp.space
    first = k.declare("first", Prim.I64, op("mul", launches.GID, imp.Var(shape.stretch)))
    end = imp.Apply("min", Prim.I64, (op("add", first, imp.Var(shape.stretch)),
                                      k.scalar(dim.width)))
    outs = lowering.results

    def point(index: imp.Exp) -> None:
        launches.bind_point(k, exp.space, [index])
        launches.run_point(k, exp.body, outs, [k.scalar(dim.index)])

    k.loop(k.declare("end", Prim.I64, end), point, start=first)
    lowering.launch(k, "segmap_stretches",
                    ceil_div(points, Size.var(shape.stretch) * lowering.group))


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> runelift.Program:
    """A program whose maps have stretches."""
    monkeypatch.setitem(SHAPES, "Stretches", STRETCHES)
    monkeypatch.setattr(dispatch, "_segmap_plain", lower_stretches)
    return runelift.compile("entry main [n] (xs: [n]i32): [n]i32 = map (\\x -> x * 7 - 3) xs",
                            device="pocl", tuning={})


def test_an_added_shape_decides_how_a_kernel_runs(program: runelift.Program,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    answers = list[int]()

    def choose(asked: StretchesRequest, limits: GeometryLimits) -> StretchesAnswer:
        answers.append(choose_stretch(asked, limits).stretch)
        return StretchesAnswer(answers[-1])

    monkeypatch.setitem(SHAPES, "Stretches", replace(STRETCHES, choose=choose))
    assert "= rt.shape('Stretches', points=n_" in program.source("host")
    (name,) = (name for name in program.kernel_parameters() if name.endswith(".width"))
    for n in (0, 1, 2, 33, 1000):
        xs = np.arange(n, dtype=np.int32)
        for wanted in (0, 1, 3, 5):
            (found,), _ = program.run("main", [xs], thresholds={name: wanted} if wanted else {})
            np.testing.assert_array_equal(np.asarray(found), xs * 7 - 3)
            assert answers[-1] == wanted or not wanted
    info = program.device_info
    assert answers[-4] == max(1, 1000 // info.units)


def test_the_settings_of_an_added_shape_are_tuned(program: runelift.Program) -> None:
    (space,) = program.spaces("main")
    (each,) = (each for each in space.ranges if each.parameter.quantity is Quantity.WIDTH)
    assert each.values == (0, 1, 3, 5, 7)
    settings = [dict(zip(space.ranges, setting, strict=True))[each]
                for setting in space.settings()]
    assert {*settings} == {0, 1, 3, 5}
    assert "short stretches" in space.obstacle(space.chosen({each.parameter.name: 7}))
