"""Train the small Llama; it needs PyTorch, and a GPU to be done in ten minutes.

    python tools/train_small_llama.py      (writes build/small_llama/trained/)

It reads the tokens that tools/small_llama_text.py prepared, and writes weights.pt, from the step
with the best validation, and curve.json. tools/export_small_llama.py turns these into the model of
the lessons.
"""

import argparse
import json
import math
import platform
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import cross_entropy, dropout

START = time.monotonic()
ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from gemlite_lab.lesson.llama import Config, Llama  # noqa: E402

WARM_UP = 300  # steps in which the learning rate rises
LARGEST_NORM = 1.0  # of all gradients
BETAS = (0.9, 0.95)


def new_model(config, dropout_share):
    """A Llama whose head shares the embedding, and which drops a share of what each part adds."""
    model = Llama(config)
    model.lm_head.weight = model.embedding.weight
    for name, parameter in model.named_parameters():
        if parameter.ndim == 2:
            adds = name.endswith(("out.weight", "down.weight"))
            spread = 0.02 / math.sqrt(2 * config.num_hidden_layers) if adds else 0.02
            torch.nn.init.normal_(parameter, std=spread)
    parts = [part for layer in model.layers for part in (layer.attention, layer.mlp)]
    for part in (model.embedding, *parts):
        part.register_forward_hook(lambda module, _, y: dropout(y, dropout_share, module.training))
    return model


def windows(tokens, context, batch, generator):
    """Endless batches (batch, context + 1) of tokens: each epoch cuts them elsewhere."""
    inside = torch.arange(context + 1, device=tokens.device)
    while True:
        shift = torch.randint(context, (), generator=generator).item()
        starts = torch.arange(shift, len(tokens) - context, context)
        starts = starts[torch.randperm(len(starts), generator=generator)].to(tokens.device)
        for some in starts.split(batch):
            if len(some) == batch:
                yield tokens[some[:, None] + inside]


def loss_of(model, window):
    """Mean nats a token of a window (batch, context + 1)."""
    with torch.autocast(window.device.type, torch.bfloat16):
        logits = model(window[:, :-1])
    return cross_entropy(logits.float().flatten(0, 1), window[:, 1:].flatten())


@torch.no_grad()
def validation_nats(model, tokens, context, batch):
    """Nats of all tokens, in windows that do not overlap."""
    model.eval()
    whole = (len(tokens) - 1) // context * context
    rows = torch.stack([tokens[: whole + 1][i : i + context + 1] for i in range(0, whole, context)])
    total = sum(loss_of(model, some).item() * len(some) * context for some in rows.split(batch))
    model.train()
    return total * (len(tokens) - 1) / whole


def optimizer_of(model, rate, decay):
    matrices = [p for p in model.parameters() if p.ndim == 2]
    norms = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": norms, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=rate, betas=BETAS)


def save(model, curve, arguments, folder):
    """The weights, float16 and the shared head once, and the curve up to here."""
    state = {name: tensor.half().cpu() for name, tensor in model.state_dict().items()}
    del state["lm_head.weight"]
    torch.save(state, folder / "weights.pt")
    write_curve(curve, arguments, folder)


def write_curve(curve, arguments, folder):
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else platform.processor()
    record = {
        "arguments": {n: v for n, v in vars(arguments).items() if not isinstance(v, Path)},
        "config": vars(Config()),
        "device": device,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "curve": curve,
    }
    (folder / "curve.json").write_text(json.dumps(record, indent=1) + "\n")


def train(arguments):
    a = arguments
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    torch.manual_seed(a.seed)
    generator = torch.Generator().manual_seed(a.seed)
    tokens = {
        part: torch.from_numpy(np.load(a.text / f"{part}.npy").astype(np.int64)).to(device)
        for part in ("train", "validation")
    }
    text = json.loads((a.text / "text.json").read_text())["parts"]
    model = new_model(Config(), a.dropout).to(device)
    print(f"{sum(p.numel() for p in model.parameters())} parameters on {device}", flush=True)
    optimizer = optimizer_of(model, a.rate, a.decay)
    fast = model if a.eager else torch.compile(model)
    steps = a.steps or int(a.epochs * len(tokens["train"]) / (a.batch * a.context))
    a.out.mkdir(parents=True, exist_ok=True)
    curve, best, waited, nats = [], math.inf, 0, []
    batches = windows(tokens["train"], a.context, a.batch, generator)
    for step in range(steps + 1):
        # Where the clock is ahead of the steps, the learning rate falls by the clock.
        done = max(step / steps, (time.monotonic() - START) / (60 * a.minutes))
        if step % a.every == 0 or done >= 1:
            total = validation_nats(model, tokens["validation"], a.context, a.batch)
            bits = total / math.log(2) / text["validation"]["bytes"]
            seen = torch.stack(nats).mean().item() if nats else None
            row = {"step": step, "train_nats": seen, "validation_bits_per_byte": bits}
            curve.append({**row, "seconds": round(time.monotonic() - START, 1)})
            print(curve[-1], flush=True)
            best, waited, nats = min(best, bits), 0 if bits < best else waited + 1, []
            if not waited:
                save(model, curve, a, a.out)
            if done >= 1 or waited == a.patience:
                break
        for group in optimizer.param_groups:
            group["lr"] = a.rate * min((step + 1) / WARM_UP, 1 - done)
        loss = loss_of(fast, next(batches))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), LARGEST_NORM)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        nats.append(loss.detach())
    write_curve(curve, a, a.out)
    print(f"best: {best:.4f} bits per byte of the validation part", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--text", type=Path, default=ROOT / "build" / "small_llama")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "small_llama" / "trained")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=9.0, help="at most, from the start on")
    parser.add_argument("--epochs", type=float, default=115.0)
    parser.add_argument("--steps", type=int, help="in place of epochs")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--context", type=int, default=2048)
    parser.add_argument("--rate", type=float, default=3e-3)
    parser.add_argument("--decay", type=float, default=0.1)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--every", type=int, default=100, help="steps between two validations")
    parser.add_argument("--patience", type=int, default=40, help="validations without a gain")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    train(parser.parse_args())
