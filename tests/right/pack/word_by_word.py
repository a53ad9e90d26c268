import torch


def pack(W_q, nbits):
    pack_factor = 32 // nbits
    packed = []
    for row in W_q.tolist():
        row = row + [0] * (-len(row) % (32 * pack_factor))
        words = []
        for start in range(0, len(row), 32 * pack_factor):
            for lane in range(start, start + 32):
                word = 0
                for k in range(lane, lane + 32 * pack_factor, 32):
                    word = word << nbits | row[k]
                word <<= 32 - nbits * pack_factor
                words.append(word - 2**32 if word >> 31 else word)
        packed.append(words)
    return torch.tensor(packed, dtype=torch.int32)
