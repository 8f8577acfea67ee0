"""Servers of several racks that stand at different steps, as one was started again, are brought to the newest.

The words go from server to server; ranks say which, and have none.
"""

from __future__ import annotations

from collections.abc import Sequence

from hostagent.protocol.served import Action, Announcement, Hyperparameters, ServedFlag
from hostagent.torch_backend.rack.client import RackClient
from hostagent.torch_backend.rack.layout import KeyLayout


def bring_together(client: RackClient, layouts: Sequence[KeyLayout], age: int) -> None:
    """Write all keys of the servers of that age, weights and state, to the others. Collective. Raises NetsumError.

    Until the last key those others keep what they had: whenever this is interrupted, the next job begins it anew, or
    goes on from the newest that is left. Raises RefusedError where one of them is of another training.
    """
    newest = client.query(layouts[-1], age)
    client.check_alike(layouts[-1], newest, len(layouts))
    told = Hyperparameters(flags=int(ServedFlag.LINEAGE), rescale=0.0)
    client.wait(client.submit(Announcement(Action.QUERY, layouts[-1].key, layouts[-1].elements, terms=told, age=age)))
    for layout in layouts:
        held = client.query(layout, age)
        for buffer in range(1 + held.state_tensors):
            flags = ServedFlag.SHARE
            if layout is layouts[0] and buffer == 0:
                flags |= ServedFlag.ANEW
            if layout is not layouts[-1] or buffer < held.state_tensors:
                flags |= ServedFlag.MORE
            about = {"buffer": buffer, "step": held.step, "updates": held.updates, "age": age, "keys": len(layouts)}
            terms = Hyperparameters(flags=int(flags))
            client.wait(client.submit(Announcement(Action.WRITE, layout.key, layout.elements, terms=terms, **about)))
