"""Names that the simulator's headers and nvcc's define as different macros, or only one of them.

`__device__` is an attribute for nvcc and nothing in the simulator. A macro of the text that is
given such a name, or pastes it to another one, could tell the two apart.
"""

import re

from gemlite_edu.kernels.host_words import is_of_the_host

# Here they expand to one other word each, which only a string or a pasted name can show.
RENAMED_HERE = frozenset(
    "threadIdx blockIdx blockDim gridDim __builtin_assume_aligned __builtin_bit_cast".split()
)
_SAME = "alignof|asm|attribute|const|extension|func|inline|signed|typeof|volatile"
_OTHERWISE = re.compile(
    rf"__(?!(?:{_SAME})__$)[a-z]\w*__|_[A-Z]\w*|__(?:[A-Z]\w*[^_]|f128|iscanonicalf128|pic|pie)"
    r"|cuda[A-Z]\w*|NV_\w+|CUDARTAPI\w*|CUDART_(?:CB|DEVICE|VERSION|\w+_(?:BF|FP)16)|CUDA_\w+"
    r"|CU_\w+|IF_DEVICE_OR_CUDACC|is\w+_l|(?:is|to)ascii\w*|(?:HUGE_VAL_|SNAN)F128|M_\w+f128|KERNEL"
    r"|__(?:cuda|cpp_|glibcxx_)\w*|__?(?:is|to)[a-z]+_l|__?(?:is|to)ascii|_to(?:lower|upper)"
    r"|__(?:catch|try|cdecl|exctype(?:_l)?|throw_exception_again|tobody|specialization_static)"
    r"|__LONG_DOUBLE_64__"
)


def is_another_macro(word):
    """True for a name whose expansion is empty, or has other signs, under one of the compilers."""
    return bool(_OTHERWISE.fullmatch(word)) or is_of_the_host(word)
