"""From rewards to numbers people can trust: reports, intervals, comparisons."""
