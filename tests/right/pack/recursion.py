import torch


def pack(W_q, nbits):
    N, K = W_q.shape
    tile = 32 * (32 // nbits)
    if K > tile:
        return torch.cat([pack(W_q[:, :tile], nbits), pack(W_q[:, tile:], nbits)], dim=1)
    if K < tile:
        W_q = torch.cat([W_q, torch.zeros(N, tile - K, dtype=torch.uint8)], dim=1)

    def join(codes, free):
        if free < nbits:
            return torch.zeros(N, 32, dtype=torch.int32)
        first = codes[:, :32].to(torch.int32) << (free - nbits)
        return first | join(codes[:, 32:], free - nbits)

    return join(W_q, 32)
