"""Whether a call of an operator may leave torch's dispatcher out."""

import torch

_NOTHING_ELSE = torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)


def is_direct(x, parameter):
    """Whether nothing but the kernel of an operator of both would come of its call, or see it.

    That is so in torch.inference_mode, which leaves autograd out, for dense tensors that have
    memory, need no gradient and are no subclasses. A mode, a transform of functorch and a tracer
    would add a key to those that the dispatcher looks up; a mode of torch functions and the
    profiler are seen by themselves.
    """
    return (
        not torch.compiler.is_compiling()
        and type(x) is torch.Tensor
        and type(parameter) is torch.nn.Parameter
        and x.layout is torch.strided
        and not x.requires_grad
        and not x._is_zerotensor()
        and torch._C._dispatch_tls_local_include_set() == _NOTHING_ELSE
        and not torch._C._len_torch_function_stack()
        and not torch.autograd.profiler._is_profiler_enabled
    )
