"""From a laptop, the time of a kernel on an H200."""

from gemlite_lab.bench.estimate.time_of_kernel import Estimate, NotModelled, estimate, why_not

__all__ = ["Estimate", "NotModelled", "estimate", "why_not"]
