"""A reduction on a switch in the terms of the cost models, dense and sparse."""

from __future__ import annotations

from dataclasses import replace

from pspin_model.flare.config import FlareConfig, Reduction
from pspin_model.flare.element_cost import element_price
from pspin_model.flare.models.dense import Algorithm, Prediction, Setting, predict
from pspin_model.flare.models.sparse_rate import SparsePrediction, SparseSetting, predict_sparse
from pspin_model.flare.operators import is_ours
from pspin_model.flare.sparse.records import sparse_layout
from pspin_model.flare.sparse.run import units_of
from pspin_model.flare.sparse.traffic import shape_of
from pspin_model.machine.costs import ELEMENT_UNIT, CostTable


def add_cycles(reduction: Reduction, costs: CostTable) -> float:
    """Cycles to add one packet, by a cost table."""
    return element_price(reduction, costs).row.cycles * reduction.elements / ELEMENT_UNIT


def setting_of(reduction: Reduction, config: FlareConfig) -> Setting:
    """A dense reduction in the cost model's terms."""
    machine = config.machine
    return Setting(
        cores=machine.clusters * machine.cores,
        children=reduction.children,
        message_bytes=reduction.message_bytes,
        add_cycles=add_cycles(reduction, config.costs),
        packet_bytes=reduction.packet_bytes,
        algorithm=Algorithm(reduction.algorithm),
        buffers=reduction.buffers,
        cores_per_block=reduction.cores_per_block,
        line_rate_gbps=reduction.line_rate_gbps,
        staggered=reduction.staggered,
    )


def sparse_setting_of(reduction: Reduction, config: FlareConfig) -> SparseSetting:
    """A sparse reduction in the terms of the model for sparse blocks."""
    shape = shape_of(reduction, reduction.children)
    return SparseSetting(
        shape=shape,
        length=reduction.length,
        density=reduction.density,
        cores=config.machine.clusters * config.machine.cores,
        costs=config.costs,
        unit_bytes=sparse_layout(shape, 0, units_of(reduction)).unit_bytes,
        buffers=units_of(reduction),
        cores_per_block=reduction.cores_per_block,
        line_rate_gbps=reduction.line_rate_gbps,
        staggered=reduction.staggered,
        summed=is_ours(reduction) and reduction.operator == "sum",
        price=element_price(reduction, config.costs),
    )


def prediction_of(reduction: Reduction, config: FlareConfig) -> Prediction | SparsePrediction:
    """The model's prediction."""
    if reduction.density:
        return predict_sparse(sparse_setting_of(reduction, config))
    return predict(setting_of(reduction, config))


def predicted_cycles(reduction: Reduction, config: FlareConfig, density: float) -> float:
    """Cycles from the first packet's arrival to the last result, by the model. ``density``: of a sparse reduction whose
    children send more than a host does, as switches do, how much."""
    if reduction.density:
        return predict_sparse(replace(sparse_setting_of(reduction, config), density=density)).cycles
    packet_bits = reduction.blocks * reduction.children * reduction.packet_bytes * 8
    return packet_bits / predict(setting_of(reduction, config)).bandwidth_gbps
