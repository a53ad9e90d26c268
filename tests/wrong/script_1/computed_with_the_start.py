# diagnosis: script_1 launched nothing on the card that it was given: measure there
def script_1(card, nbytes):
    return card.start_us + nbytes / card.read_gb_per_s / 1e3
