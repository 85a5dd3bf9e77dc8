"""Load a reward model with nothing but transformers and let it score one story."""

from typing import Any

CHAT = [
    {"role": "user", "content": "A lighthouse keeper finds a letter addressed to tomorrow."},
    {
        "role": "assistant",
        "content": "The envelope was dry, though the sea had carried it. She put it on the sill and waited.",
    },
]


def score(model: str, sha: str | None) -> dict[str, Any]:
    """Give the reward of one story, and the weights that were missing or left over."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model, revision=sha)
    loaded, info = AutoModelForSequenceClassification.from_pretrained(
        model, revision=sha, output_loading_info=True, dtype=torch.float32
    )
    ids: Any
    if tokenizer.chat_template:
        ids = tokenizer.apply_chat_template(CHAT, return_tensors="pt", return_dict=True)
    else:
        ids = tokenizer(*(turn["content"] for turn in CHAT), return_tensors="pt")
    with torch.no_grad():
        reward = loaded.eval()(**ids).logits.flatten().tolist()
    unfit = [*info["missing_keys"], *info["unexpected_keys"]]
    return {"reward": reward, "unfit_weights": sorted(map(str, unfit))}
