"""A small model with the interface of ArmoRM and QRM: objectives weighed by a gate that looks at the prompt's end.

Its import lines, and what it does before and after ``post_init``, are those that such files have.
"""

from dataclasses import dataclass

import torch
from torch import nn
from transformers import LlamaModel, LlamaPreTrainedModel
from transformers.models.llama.modeling_llama import LLAMA_INPUTS_DOCSTRING
from transformers.utils import ModelOutput, add_start_docstrings_to_model_forward


@dataclass
class GatedOutput(ModelOutput):
    rewards: torch.FloatTensor | None = None
    gating_output: torch.FloatTensor | None = None
    score: torch.FloatTensor | None = None
    logits: torch.FloatTensor | None = None


class Gate(nn.Module):
    def __init__(self, inputs, outputs, hidden, temperature, batch_norm):
        super().__init__()
        self.temperature = temperature
        self.logit_scale = nn.Parameter(torch.ones(1))
        steps = [nn.Linear(inputs, hidden), nn.ReLU()]
        steps += [nn.BatchNorm1d(hidden)] if batch_norm else []
        self.layers = nn.ModuleList([*steps, nn.Linear(hidden, outputs)])

    def forward(self, state):
        for layer in self.layers:
            state = layer(state)
        return torch.softmax(state / self.temperature, dim=1) * self.logit_scale[0]


class GatedReward(LlamaPreTrainedModel):
    """``num_quantiles`` of 1 is ArmoRM's regression; more are QRM's quantiles, averaged to an expectation."""

    def __init__(self, config):
        super().__init__(config)
        self.model = LlamaModel(config)
        self.objectives, self.quantiles = config.num_objectives, config.num_quantiles
        self.regression_layer = nn.Linear(config.hidden_size, self.objectives * self.quantiles, bias=False)
        self.post_init()
        transform = torch.zeros(self.objectives, self.objectives)
        transform[range(self.objectives), range(self.objectives)] = 1.0
        self.reward_transform_matrix = nn.Parameter(transform)
        self.reward_transform_matrix.requires_grad = False
        self.gating = Gate(config.hidden_size, self.objectives, 16, config.gating_temperature, self.quantiles > 1)

    @add_start_docstrings_to_model_forward(LLAMA_INPUTS_DOCSTRING)
    def forward(
        self, input_ids=None, attention_mask=None, position_ids=None, past_key_values=None, inputs_embeds=None,
        labels=None, use_cache=None, output_attentions=None, output_hidden_states=None, return_dict=None,
    ):  # fmt: skip
        return_dict = return_dict if return_dict is not None else self.config.use_return_dict
        states = self.model(
            input_ids, attention_mask=attention_mask, position_ids=position_ids, past_key_values=past_key_values,
            inputs_embeds=inputs_embeds, use_cache=use_cache, output_attentions=output_attentions,
            output_hidden_states=output_hidden_states, return_dict=return_dict,
        )[0]  # fmt: skip
        if self.config.pad_token_id is None and input_ids.shape[0] != 1:
            raise ValueError("no padding token: one conversation at a time")
        marks = self.config.assistant_marks
        rows = input_ids.tolist()
        starts = [max(i for i in range(len(row)) if row[i : i + len(marks)] == marks) for row in rows]
        batch = torch.arange(len(rows))
        values = self.regression_layer(states[batch, -1]).reshape(-1, self.objectives, self.quantiles).mean(2)
        weights = self.gating(states[batch, starts])
        score = (weights * (values @ self.reward_transform_matrix)).sum(1, keepdim=self.quantiles > 1)
        return GatedOutput(rewards=values, gating_output=weights, score=score, logits=score)
