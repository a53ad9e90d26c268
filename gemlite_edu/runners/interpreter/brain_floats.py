"""`dot_of_values`: tl.dot of bf16 in the interpreter, which keeps the bits of bf16 as integers."""


def dot_of_values(create_dot):
    """The interpreter's `create_dot`, given bf16 as float32. Triton 3.6 multiplies their bits."""
    import triton.language as tl

    def value_of(builder, operand):
        is_bf16 = operand.dtype.scalar.is_bf16()
        return builder.create_fp_ext(operand, tl.float32) if is_bf16 else operand

    def of_values(builder, a, b, *others):
        return create_dot(builder, value_of(builder, a), value_of(builder, b), *others)

    return of_values
