"""Users' transformers in folders of Hugging Face's layout, read without running anything of them.

The folder holds ``config.json``, weights as safetensors and a tokenizer. Nothing is fetched, no
code from the folder is run, and pickled weights are not read. Needs the extra ``hf``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from corpusmill.pipeline.errors import AssetError, ConfigError

from .own_models import extra_module

EXTRA: Final = "hf"


def check_window(stage: str, max_tokens: int) -> None:
    """Raises ConfigError for a stage's `max_tokens` in which there is hardly room for a word."""
    if max_tokens < 8:
        raise ConfigError(f"{stage}: max_tokens is {max_tokens}", hint="8 or more; 512 is usual")


def checked_config(folder: Path, head: str, what: str) -> dict[str, Any]:
    """config.json of a folder that can be read safely.

    `head`: how the names of fitting architectures end (``ForSequenceClassification``); `what`: what
    such a model is called. Raises AssetError for any other folder.
    """
    name = folder.name
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        kinds = [str(kind) for kind in config.get("architectures") or ()]
        own_code = sorted(config.get("auto_map") or ())
    except (OSError, ValueError, AttributeError, TypeError) as error:
        raise AssetError(
            f"model {name} has no config.json that can be read: {error}",
            hint="a folder as save_pretrained() writes it, with the tokenizer beside the weights",
        ) from error
    if not any(kind.endswith(head) for kind in kinds):
        raise AssetError(
            f"model {name} is no {what}: config.json has architectures "
            f"{', '.join(kinds) or '(none)'}"
        )
    if own_code:
        raise AssetError(
            f"model {name} brings code of its own ({', '.join(own_code)}), which is not run",
            hint="save it in a layout that transformers knows",
        )
    if not any(folder.glob("*.safetensors")):
        found = sorted(path.name for path in folder.iterdir())
        raise AssetError(
            f"model {name} has no weights as safetensors; there are {', '.join(found)}",
            hint="save_pretrained(FOLDER) writes them; pickled weights are not read",
        )
    return dict(config)


def load(folder: Path, auto: str) -> tuple[Any, Any]:
    """Model and tokenizer, in 32 bits on one thread. `auto`: the class of transformers that reads
    the model. Raises AssetError for a damaged folder, or one without some of the weights."""
    extra_module("torch", EXTRA).set_num_threads(1)
    transformers = extra_module("transformers", EXTRA)
    here = {"local_files_only": True, "trust_remote_code": False}
    try:
        model, loading = getattr(transformers, auto).from_pretrained(
            folder, use_safetensors=True, output_loading_info=True, dtype="float32", **here
        )
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **here)
    except Exception as error:  # a damaged folder raises whatever its parts raise
        raise AssetError(f"model {folder.name} cannot be loaded: {error!r}") from error
    missing = sorted(loading["missing_keys"])
    if missing:  # they would be drawn at random
        raise AssetError(f"model {folder.name} has no weights for {', '.join(missing[:4])}")
    return model.eval(), tokenizer


def check_length(folder: Path, config: dict[str, Any], tokenizer: Any, max_tokens: int) -> None:
    """Raises AssetError where a model cannot read `max_tokens` tokens at once."""
    longest = int(config.get("max_position_embeddings") or max_tokens)
    longest = min(longest, int(tokenizer.model_max_length))
    if max_tokens > longest:
        raise AssetError(
            f"model {folder.name} reads at most {longest} tokens, max_tokens is {max_tokens}",
            hint=f"set max_tokens: {longest}",
        )
