"""How many tokens a model takes."""


def check_length(count, config):
    """Raise ValueError if so many tokens are more than the model takes."""
    most = config.max_position_embeddings
    if count > most:
        raise ValueError(f"{count} tokens are more than the model takes, {most}: cut the text")
