import torch


def pack_sparse(W_q, kept):
    N, K = W_q.shape
    words = []
    for codes, keeps in zip(W_q.tolist(), kept.tolist(), strict=True):
        codes, keeps = codes + [0] * 512, keeps + [False] * 512
        row = []
        for start in range(0, K, 256):
            for lane in range(start, start + 32):
                word = 0
                for k in range(lane, lane + 256, 64):
                    if keeps[k]:
                        word = word * 256 + 128 + codes[k]
                    elif keeps[k + 32]:
                        word = word * 256 + codes[k + 32]
                    else:
                        word *= 256
                row.append(word if word < 2**31 else word - 2**32)
        words.append(row)
    return torch.tensor(words, dtype=torch.int32)
