"""``netsum bench``: each figure next to its baseline, measured in the same run, with the machine's facts."""
