"""What `netsum bench` measures: each figure beside its peer, in the same run, with the machine's facts."""
