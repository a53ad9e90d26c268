"""transformers loads the small Llama and its tokenizer, and gives our logits."""

import torch
import transformers

from gemlite_lab import encode, held_out, small_llama, tokenizer
from gemlite_lab.lesson.small_llama import FOLDER


def test_transformers_gives_the_logits_of_the_readable_model():
    theirs = transformers.AutoModelForCausalLM.from_pretrained(FOLDER, dtype=torch.float32).eval()
    tokens = encode(held_out()["queue"])[None, :500]
    with torch.no_grad():
        ours = small_llama()(tokens)
        torch.testing.assert_close(theirs(tokens).logits, ours, atol=1e-4, rtol=1e-4)


def test_transformers_reads_the_tokenizer():
    text = held_out()["netrc"]
    theirs = transformers.AutoTokenizer.from_pretrained(FOLDER)
    assert theirs(text).input_ids == tokenizer().encode(text).ids
    assert theirs.decode(theirs(text).input_ids) == text
    assert theirs.bos_token_id == theirs.eos_token_id == 0
