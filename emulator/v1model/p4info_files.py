"""P4Info in each of its file formats, as p4c writes them."""

from __future__ import annotations

from typing import Any

_HEADER = "# proto-file: p4/config/v1/p4info.proto\n# proto-message: p4.config.v1.P4Info\n\n"


def p4info_texts(message: Any) -> dict[str, str]:
    """A file's content by its suffix; the binary one in hexadecimal."""
    from google.protobuf import json_format, text_format

    return {
        ".bin": message.SerializeToString(deterministic=True).hex(),
        ".json": json_format.MessageToJson(message, indent=1) + "\n",
        ".txtpb": _HEADER + text_format.MessageToString(message),
    }
