"""Boosted trees on live ranks, summed in the switch and by schedules: R2, and a digest of the trees, of each rank."""

import hashlib
import pickle
import sys
from pathlib import Path

import torch.distributed as dist
from lines import say

sys.path.insert(0, str(Path(__file__).parents[3]))

from hostagent.cli.schedule.boosted_trees import Summed, explained, train


def main():
    dist.init_process_group("netsum")
    for algorithm in sys.argv[1:]:
        model = train(Summed(algorithm))
        digest = hashlib.sha256(pickle.dumps(model, protocol=4)).hexdigest()[:16]
        say(f"trees {algorithm} {explained(model):.6f} {digest}")
    dist.destroy_process_group()
