# diagnosis: W_packed is a list, expected a torch.Tensor
def pack(W_q, nbits):
    pack_factor = 32 // nbits
    tile = 32 * pack_factor
    packed = []
    for row in W_q.tolist():
        row += [0] * (-len(row) % tile)
        words = []
        for start in range(0, len(row), tile):
            for lane in range(32):
                word = 0
                for j in range(pack_factor):
                    word = word << nbits | row[start + lane + 32 * j]
                words.append(word << 32 - nbits * pack_factor)
        packed.append(words)
    return packed
