"""Tests whether a call of an operator may bypass torch's dispatcher."""

import torch

_NOTHING_ELSE = torch._C.DispatchKeySet(torch._C.DispatchKey.BackendSelect)


def is_direct(x, parameter):
    """True if the dispatcher would only call the kernel: no autograd, tracer, mode or profiler.

    This holds in torch.inference_mode, which switches autograd off, for dense tensors that own
    memory, need no gradient and are not subclasses. A dispatch mode, a functorch transform and a
    tracer each add a key that the dispatcher looks up; the function checks torch-function modes
    and the profiler separately.
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
