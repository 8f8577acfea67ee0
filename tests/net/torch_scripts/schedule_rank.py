"""A rank of `netsum schedule run`: its arguments are those of `hostagent.cli.schedule.rank`."""

import sys

from hostagent.cli.schedule import rank


def main():
    assert not rank.main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
