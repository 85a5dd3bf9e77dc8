"""Top-1 accuracy of a scorer that has to find the chosen story among several candidates."""

import json

import datasets
import evaluate

from .accuracy import clean_predictions, clean_references, plain_value, top1_report

CONFIGS = ("default", "grouped")

_DESCRIPTION = """
Share of groups in which the chosen story gets the highest reward. A chosen story that shares the top with k - 1 others
earns 1/k; a group with a missing reward is unscored, left out, and counted. Reported overall, as the mean over the
dimensions, by dimension and by source, each with a 95% Wilson interval.
"""

_INPUTS = """
Args:
    predictions (list of lists of float): the rewards of each group, one number a candidate, 2 candidates or more.
        None, NaN and infinity are missing rewards.
    references (list of int): the index of the chosen story in each group.
    dimensions (list of str or int, configuration `grouped`): a name, or the integer of a ClassLabel column; None where
        there is none. One of coherence (0), creativity (1), characterization (2), fluency (3), relevance (4).
    sources (list of str or int, configuration `grouped`): likewise; human_llm (0) or llm_llm (1).
    tie_policy (str): `split` (the default: 1/k for a tie of k at the top) or `strict` (a tie is wrong).
    dimension_names, source_names (list of str): other names, for other data sets.

Returns:
    accuracy (float or None): mean credit over the scored groups; None where no group is scored.
    ci (list of 2 floats or None): its interval.
    n, n_ties, n_unscored (int): all groups; those whose chosen story shares the top; those with a missing reward.
    accuracy_unscored_wrong, ci_unscored_wrong: the same with unscored groups counted as wrong.
    macro_accuracy, macro_ci: mean over the dimensions that have a scored group; None without dimensions.
    chance (float or None): mean of 1 / candidates.
    by_dimension, by_source (dict): name -> accuracy, ci, n, n_ties, n_unscored.

Examples:
    >>> metric = evaluate.load("evaluate_metric/storyrmb_accuracy")
    >>> results = metric.compute(predictions=[[2.0, 1.0, 0.5, 0.1], [0.3, 0.3, 0.1, 0.2]], references=[0, 0])
    >>> results["accuracy"], results["n_ties"]
    (0.75, 1)
"""

_CITATION = """
@misc{storyalign,
  title = {{StoryAlign}: Evaluating and Training Reward Models for Story Generation},
  note  = {Section 4.1}
}
"""


class StoryRMBAccuracy(evaluate.Metric):
    """Top-1 accuracy with ties, unscored groups and intervals, overall and by group."""

    def __init__(self, config_name=None, **options):
        """Keep the inputs in memory, so that processes that share a cache folder never meet in one file."""
        options["keep_in_memory"] = options.get("num_process", 1) == 1
        super().__init__(config_name, **options)

    def _info(self):
        if self.config_name not in CONFIGS:
            raise ValueError(f"unknown configuration {self.config_name!r}; expected one of {', '.join(CONFIGS)}")
        features = {
            "predictions": datasets.Sequence(datasets.Value("float64")),  # float32 would make ties
            "references": datasets.Value("int64"),
        }
        if self.config_name == "grouped":
            features |= {"dimensions": datasets.Value("string"), "sources": datasets.Value("string")}
        return evaluate.MetricInfo(
            description=_DESCRIPTION,
            citation=_CITATION,
            inputs_description=_INPUTS,
            features=datasets.Features(features),
        )

    def add_batch(self, *, predictions=None, references=None, **kwargs):
        """Check and add groups. Arrow would take 0.7 for an index and true for a reward; here they are refused.

        Args:
            predictions: rewards of each group.
            references: chosen index of each group.
            **kwargs: `dimensions` and `sources` in the configuration `grouped`.
        """
        if predictions is None or references is None:
            raise ValueError("predictions and references are both needed")
        groups = clean_predictions(predictions)
        batch = {"predictions": groups, "references": clean_references(references, groups)}
        # A string column takes neither integers nor a None in front; as JSON all three pass unchanged.
        for column, values in kwargs.items():
            values = [None] * len(groups) if values is None else values
            batch[column] = [json.dumps(plain_value(value), default=repr) for value in values]
        evaluate.Metric.add_batch(self, **batch)

    def add(self, *, prediction=None, reference=None, **kwargs):
        """Check and add one group.

        Args:
            prediction: rewards of the group.
            reference: its chosen index.
            **kwargs: `dimensions` and `sources` in the configuration `grouped`: one name each.
        """
        self.add_batch(
            predictions=[prediction], references=[reference], **{key: [value] for key, value in kwargs.items()}
        )

    def _compute(self, predictions, references, dimensions=None, sources=None, **options):
        if self.config_name == "grouped":
            dimensions, sources = [json.loads(value) for value in dimensions], [json.loads(value) for value in sources]
        return top1_report(predictions, references, dimensions, sources, **options)
