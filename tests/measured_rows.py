"""Rows for the tests of what reads measurements, with numbers that are easy to check by hand."""

from gemlite_lab.bench.measurements import Measurement
from gemlite_lab.bench.model.rows import ModelRow


def measured(kernel, us, M=1, N=100, K=1000, weights="W4 g128", **changed):
    """A `Measurement` with 100 MB, on a card that reads 1,000 GB/s: its limit is 100 µs.

    Its products run at 50 TFLOP/s.
    """
    fields = dict(date="2026-11-22", device="Card", kernel=kernel, version="1.0", weights=weights)
    fields |= dict(transposed=False, M=M, N=N, K=K, x_dtype="float16")
    fields |= dict(p20_us=us * 0.99, p50_us=us, p80_us=us * 1.01, bytes=100_000_000)
    fields |= dict(read_gb_per_s=1000.0, matmul_tflops=50.0, error=3e-4, copies=8, sm_mhz=1980)
    fields |= dict(
        memory_mhz=3201, seed=7, torch="2.11.0", triton="3.6.0", cuda="13.0", driver="580"
    )
    fields |= dict(refused="") | changed
    gb_per_s = fields["bytes"] / (us * 1e3) if us else 0.0
    return Measurement(**fields, gb_per_s=gb_per_s)


def model_row(contender, shape="8B", phase="decode", size=1, **changed):
    """A `ModelRow` of 1 ms on a card that reads 4,000 GB/s."""
    fields = dict(date="2026-11-24", device="Card", shape=shape, contender=contender, version="1")
    fields |= dict(weights="W16" if contender == "fp16" else "W4 g128", dtype="float16")
    fields |= dict(phase=phase, size=size, context=128 if phase == "decode" else 0)
    fields |= dict(p20_us=1000.0, p50_us=1000.0, p80_us=1000.0, tokens_per_s=1000.0 * size)
    fields |= dict(as_is_us=9000.0, linear_us=800.0, linear_share=0.8, peak_bytes=10**9)
    fields |= dict(weight_bytes=10**9, error=1e-4, equal_tokens=1.0, behind=0.0)
    fields |= dict(read_gb_per_s=4000.0, matmul_tflops=700.0, sm_mhz=1980, memory_mhz=3201)
    fields |= dict(torch="2.11.0", triton="3.6.0", transformers="5.17.0", cuda="13.0", driver="1")
    return ModelRow(**fields | dict(refused="") | changed)
