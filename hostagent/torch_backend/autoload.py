"""Makes ``init_process_group("netsum")`` known to torch; light, because ``import torch`` runs it.

torch calls ``register`` through the entry point ``torch.backends`` (unless TORCH_DEVICE_BACKEND_AUTOLOAD=0), and turns
any exception of ours into a failure of ``import torch`` itself. So hardly anything is imported here but torch's own
distributed module, which ``import torch`` has loaded already; everything else waits for the first group.
"""

from __future__ import annotations

from typing import Any

BACKEND = "netsum"


def register() -> None:
    """Register the backend; again is harmless, and a torch built without distributed is left alone."""
    import torch.distributed as dist

    from hostagent.torch_backend import failure_report

    failure_report.install()
    if dist.is_available() and BACKEND not in dist.Backend.backend_list:
        dist.Backend.register_backend(BACKEND, _create, extended_api=True, devices=["cpu"])


def _create(options: Any, backend_options: Any) -> Any:
    """torch's creator: called on every rank of a new group."""
    from hostagent.torch_backend.creation import create_group

    return create_group(options, backend_options)
