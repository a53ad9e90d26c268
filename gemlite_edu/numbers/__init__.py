"""Number formats and quantization: what a code means, and how large a result's error may be."""
