"""A picture of BitNet's tile of 2-bit codes: its words, who loads them, and the bits of one."""

from gemlite_edu.packing.bitnet_2bit import CODES_OF_A_WORD, TILE_K, TILE_N, Bitnet2Bit
from gemlite_lab.draw.canvas import INK, NEIGHBOURS, box, display_png, frame, stacked

_WORDS_OF_A_LANE = 4
_WORD_BITS = 32


def bitnet_2bit(n=0, k=0):
    """A tile of 16 x 32 codes as 32 words, and the bits of the word that holds code (n, k).

    In the upper part a row is an output, and four words of one colour are the 16 bytes that one
    lane loads. In the lower part the codes e of one colour have the same e // 4, and each of them
    lies in its own byte.
    Raises ValueError for a code outside the tile.
    """
    if not (0 <= n < TILE_N and 0 <= k < TILE_K):
        raise ValueError(f"a tile is n = 0 to 15 and k = 0 to 31, got ({n}, {k})")
    words = _words()
    opened = _word_of(Bitnet2Bit(TILE_K).locate(n, k))
    print("a tile of 16 outputs x 32 k: 32 words, 128 bytes")
    for first in range(0, len(words), _WORDS_OF_A_LANE):
        of_lane = words[first : first + _WORDS_OF_A_LANE]
        rows, ks = _span(of_lane, 0), _span(of_lane, 1)
        last = first + _WORDS_OF_A_LANE - 1
        print(f"lane {first // _WORDS_OF_A_LANE}, words {first} to {last}: n = {rows}, k = {ks}")
    fields = [(shift, k) for (_, k), shift in words[opened].items()]
    print(f"word {opened}, n = {_span([words[opened]], 0)}, from bit 31 down:")
    for high in range(_WORD_BITS, 0, -8):
        of_byte = sorted(((s, k) for s, k in fields if high - 8 <= s < high), reverse=True)
        print(f"bits {high - 1}-{high - 8}: k = " + ", ".join(str(k) for _, k in of_byte))
    _draw(words, opened, fields)


def _words():
    """[{(n, k): shift}] of the words of a tile, in memory order."""
    layout = Bitnet2Bit(TILE_K)
    words = [{} for _ in range(TILE_N * TILE_K // CODES_OF_A_WORD)]
    for n in range(TILE_N):
        for k in range(TILE_K):
            address = layout.locate(n, k)
            words[_word_of(address)][n, k] = address.shift
    return words


def _word_of(address):
    return address.row * (TILE_K // CODES_OF_A_WORD) + address.col


def _span(words, axis):
    places = sorted({place[axis] for word in words for place in word})
    return f"{places[0]} to {places[-1]}" if len(places) > 1 else f"{places[0]}"


def _draw(words, opened, fields):
    figure = stacked(10, 5.2, [16, 3])
    tile, bits = figure.axes
    for number, word in enumerate(words):
        n, k = min(word)
        lane = number // _WORDS_OF_A_LANE
        label = f"word {number}, lane {lane}"
        box(tile, k, n, CODES_OF_A_WORD, NEIGHBOURS[lane % len(NEIGHBOURS)], label)
        if number == opened:
            frame(tile, k, n, CODES_OF_A_WORD, 1)
    tile.set(xlim=(0, TILE_K), ylim=(TILE_N, 0), xlabel="k", ylabel="n, output")
    tile.set_xticks(range(0, TILE_K + 1, 4))
    tile.set_yticks([n + 0.5 for n in range(TILE_N)], range(TILE_N), fontsize=8)
    tile.set_title("a tile: 32 words as they lie in memory, and the lane that loads them")
    for shift, k in fields:
        left = _WORD_BITS - shift - Bitnet2Bit.nbits
        box(bits, left, 0, Bitnet2Bit.nbits, NEIGHBOURS[shift % 8 // 2], f"k={k}")
    for left in range(0, _WORD_BITS, 8):
        frame(bits, left, 0, 8, 1, INK, linewidth=1.5)
    bits.set(xlim=(0, _WORD_BITS), ylim=(0, 1), yticks=[])
    bits.set_xticks(range(0, _WORD_BITS + 1, 8), [str(_WORD_BITS - x) for x in range(0, 33, 8)])
    bits.set_title(f"word {opened}, framed above: bit 31 left, bit 0 right, four bytes")
    bits.set_xlabel("one colour: the codes of one shift and one mask")
    display_png(
        figure,
        f"The words of a tile of 16 x 32 codes by lane, and the 16 fields of word {opened}",
    )
