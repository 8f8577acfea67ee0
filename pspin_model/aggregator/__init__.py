"""The PsPIN switch as an aggregator of the protocol: matching rules, one handler, and the machine that runs it."""

from pspin_model.aggregator.core import PspinAggregator

__all__ = ["PspinAggregator"]
