"""Of W&B's helpers the one that scripts call themselves."""

import secrets

from wandb._rest import find

_LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz"


def generate_id(length=8):
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


def __getattr__(name):
    return find(__name__, name)
