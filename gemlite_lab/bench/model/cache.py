"""The static cache: room for the keys and values of a fixed number of tokens."""


def use_cache(model, batch, length, dtype, device):
    """Give every layer the room of transformers' `StaticCache` for `length` tokens of each text."""
    from transformers import StaticCache

    config = model.config
    cache = StaticCache(config=config, max_cache_len=length)
    sizes = config.num_key_value_heads, config.head_dim
    cache.early_initialization(batch, *sizes, dtype=dtype, device=device)
    for layer, room in zip(model.model.layers, cache.layers, strict=True):
        # Detached, because transformers marks its own so that each layer would be compiled anew.
        layer.self_attn.keys, layer.self_attn.values = room.keys.detach(), room.values.detach()


def forget_cache(model):
    """Free what `use_cache` gave."""
    for layer in model.model.layers:
        layer.self_attn.keys = layer.self_attn.values = None


def copy_cache(source, target):
    """Copy the keys and values of a model to another of the same shape."""
    for one, other in zip(source.model.layers, target.model.layers, strict=True):
        other.self_attn.keys.copy_(one.self_attn.keys)
        other.self_attn.values.copy_(one.self_attn.values)
