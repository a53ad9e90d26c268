"""Shapes of models that are measured, and the least time that their steps can take."""

from dataclasses import dataclass

from gemlite_lab.bench.roofline import floor_us, weight_bytes

_BYTES_PER_VALUE = 2  # fp16 or bf16


@dataclass(frozen=True)
class Shape:
    """A Llama's sizes. is_tied: the head is the embedding, as long as neither is quantized."""

    name: str
    hidden: int
    intermediate: int
    layers: int
    heads: int
    kv_heads: int
    head_size: int
    vocab: int
    is_tied: bool = False

    def config(self):
        """transformers' `LlamaConfig` of these sizes."""
        from transformers import LlamaConfig

        return LlamaConfig(
            hidden_size=self.hidden,
            intermediate_size=self.intermediate,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.kv_heads,
            head_dim=self.head_size,
            vocab_size=self.vocab,
            tie_word_embeddings=self.is_tied,
            rope_parameters={"rope_type": "default", "rope_theta": 500000.0},
            max_position_embeddings=8192,
            attn_implementation="sdpa",
        )

    def linears(self):
        """{name: (N, K)} of the linear layers after fusion, in the order of a step."""
        of_layer = {
            "self_attn.qkv_proj": ((self.heads + 2 * self.kv_heads) * self.head_size, self.hidden),
            "self_attn.o_proj": (self.hidden, self.heads * self.head_size),
            "mlp.gate_up_proj": (2 * self.intermediate, self.hidden),
            "mlp.down_proj": (self.hidden, self.intermediate),
        }
        found = {
            f"model.layers.{i}.{name}": size
            for i in range(self.layers)
            for name, size in of_layer.items()
        }
        return found | {"lm_head": (self.vocab, self.hidden)}

    def cache_bytes(self, batch, context):
        """Bytes of the keys and values of `context` tokens of `batch` texts."""
        values = 2 * self.layers * self.kv_heads * self.head_size
        return _BYTES_PER_VALUE * values * batch * context

    def least_weight_bytes(self, nbits, group_size):
        """Bytes of the linear layers' weights, packed, with a 16-bit scale and zero per group."""
        return sum(weight_bytes(N, K, nbits, group_size) for N, K in self.linears().values())

    def decode_limit_us(self, nbits, group_size, batch, context, read_gb_per_s):
        """Microseconds that reading weights and cache takes: the least for one token per text."""
        nbytes = self.least_weight_bytes(nbits, group_size) + self.cache_bytes(batch, context)
        return floor_us(nbytes, read_gb_per_s)

    def operations(self, rows, head_rows):
        """Operations of the linear layers for so many rows of x, and of the head for its own."""
        *others, head = (N * K for N, K in self.linears().values())
        return 2 * (rows * sum(others) + head_rows * head)


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("8B", 4096, 14336, 32, 32, 8, 128, 128256),  # Llama-3.1-8B
        Shape("1B", 2048, 8192, 16, 32, 8, 64, 128256, is_tied=True),  # Llama-3.2-1B
    )
}
