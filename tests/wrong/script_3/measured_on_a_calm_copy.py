# diagnosis: script_3 launched nothing on the card that it was given: measure there
from dataclasses import replace


def script_3(card, nbytes):
    calm = replace(card, interruption_us=0.0, compile_us=0.0, asynchronous=False)
    start = calm.clock()
    calm.launch(calm.weights(nbytes))
    return calm.clock() - start
