# diagnosis: script_2 launched nothing on the card that it was given: measure there
def script_2(card, nbytes):
    bytes_per_us = card.read_gb_per_s * 1e9 / 1e6
    return nbytes / bytes_per_us
