"""``netsum pspin``: the model of the PsPIN switch, in virtual time."""
