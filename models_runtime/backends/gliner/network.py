"""The network of GLiNER's span models (Zaratiana et al. 2024), under the names of its published state dict."""

from typing import Any, Final

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

# A layer between two projections is this many times as wide as the result.
WIDER: Final = 4


class SpanNetwork(nn.Module):  # type: ignore[misc]  # torch has no types where it is not installed
    """Scores every span of up to `width` words for every prompt.

    An encoder reads prompts and text together. A span is represented by its first and its last word (“markerV0”), and
    its score for a prompt is the scalar product with the prompt's vector.
    """

    def __init__(self, encoder: Any, *, hidden: int, width: int, layers: int) -> None:
        """`encoder` is a transformer; `hidden`: size of words and prompts; `layers`: LSTM layers, or 0 for none."""
        super().__init__()
        self.width = width
        parts = nn.ModuleDict({"bert_layer": nn.ModuleDict({"model": encoder})})
        if encoder.config.hidden_size != hidden:
            parts["projection"] = nn.Linear(encoder.config.hidden_size, hidden)
        self.token_rep_layer = parts
        self.rnn = nn.ModuleDict()
        if layers:
            self.rnn["lstm"] = nn.LSTM(hidden, hidden // 2, layers, bidirectional=True, batch_first=True)
        markers = {
            "project_start": _projection(hidden, hidden),
            "project_end": _projection(hidden, hidden),
            "out_project": _projection(2 * hidden, hidden),
        }
        self.span_rep_layer = nn.ModuleDict({"span_rep_layer": nn.ModuleDict(markers)})
        self.prompt_rep_layer = _projection(hidden, hidden)

    def forward(self, pieces: Any, mask: Any, prompts: Any, words: Any, lengths: Any) -> Any:
        """The logits [texts, words, widths, prompts] of spans by first word and number of words, less one.

        `pieces` and `mask` [texts, pieces]; `prompts` [prompts]: positions of the prompts, equal in all texts; `words`
        [texts, words]: position of each word's first piece, or -1 for none; `lengths` [texts]: numbers of words, on the
        CPU. A span that leaves its text has a score without meaning.
        """
        layers = self.token_rep_layer
        found = layers["bert_layer"]["model"](input_ids=pieces, attention_mask=mask).last_hidden_state
        if "projection" in layers:
            found = layers["projection"](found)
        rows = torch.arange(len(found), device=found.device)[:, None]
        inside = found[rows, words.clamp(min=0)] * (words >= 0)[..., None]
        if "lstm" in self.rnn:
            packed = pack_padded_sequence(inside, lengths, batch_first=True, enforce_sorted=False)
            inside, _ = pad_packed_sequence(self.rnn["lstm"](packed)[0], batch_first=True, total_length=words.shape[1])
        markers = self.span_rep_layer["span_rep_layer"]
        at = torch.arange(words.shape[1], device=found.device)
        ends = (at[:, None] + torch.arange(self.width, device=found.device)).clamp(max=words.shape[1] - 1)
        first = markers["project_start"](inside)[:, :, None].expand(-1, -1, self.width, -1)
        last = markers["project_end"](inside)[:, ends]
        spans = markers["out_project"](torch.cat([first, last], dim=-1).relu())
        asked = self.prompt_rep_layer(found[:, prompts])
        return torch.einsum("blkd,bcd->blkc", spans, asked)


def _projection(size: int, out: int) -> nn.Sequential:
    # Nothing is dropped when a model reads; the layer keeps the numbers of the published names.
    return nn.Sequential(nn.Linear(size, WIDER * out), nn.ReLU(), nn.Identity(), nn.Linear(WIDER * out, out))
