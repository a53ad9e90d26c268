"""The system calls that a learner's program may not make, as a filter for the Linux kernel.

The filter is a program of classic BPF (kernel documentation, "Seccomp BPF"). A forbidden call fails
with EPERM. The program may read files, compute, allocate memory and start threads; it
may not write, create, rename or delete a file, start a program or a process, open a socket, send a
signal, look into another process, or change its own limits.
"""

import os
import platform
import struct
from functools import cache

# {call: its numbers on x86-64 and on ARM}; None for a call that a machine does not have.
_CALLS = {
    "open": (2, None), "creat": (85, None), "openat": (257, 56), "openat2": (437, 437),
    "rename": (82, None), "renameat": (264, 38), "renameat2": (316, 276),
    "unlink": (87, None), "unlinkat": (263, 35), "rmdir": (84, None),
    "mkdir": (83, None), "mkdirat": (258, 34), "mknod": (133, None), "mknodat": (259, 33),
    "link": (86, None), "linkat": (265, 37), "symlink": (88, None), "symlinkat": (266, 36),
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452),
    "chown": (92, None), "fchown": (93, 55), "lchown": (94, None), "fchownat": (260, 54),
    "truncate": (76, 45), "ftruncate": (77, 46), "fallocate": (285, 47),
    "utime": (132, None), "utimes": (235, None), "utimensat": (280, 88),
    "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "memfd_create": (319, 279), "shmget": (29, 194), "semget": (64, 190), "msgget": (68, 186),
    "mq_open": (240, 180), "socket": (41, 198), "socketpair": (53, 199),
    "execve": (59, 221), "execveat": (322, 281),
    "fork": (57, None), "vfork": (58, None), "clone": (56, 220), "clone3": (435, 435),
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424),
    "pidfd_getfd": (438, 438), "ptrace": (101, 117),
    "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "setsid": (112, 157), "setpgid": (109, 154),
    "setrlimit": (160, 164), "prlimit64": (302, 261),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51),
    "unshare": (272, 97), "setns": (308, 268), "reboot": (169, 142), "kexec_load": (246, 104),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "io_uring_setup": (425, 425), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "add_key": (248, 217), "keyctl": (250, 219),
}  # fmt: skip
# {machine: its place above, and its number in audit.h}
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
_OTHER_NUMBERS = 0x40000000  # from here on x86-64 numbers the calls of 32-bit programs

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _FAIL_WITH = 0x7FFF0000, 0x00050000
_EPERM, _ENOSYS = 1, 38
_OFFSET_OF_NUMBER, _OFFSET_OF_ARCHITECTURE, _OFFSET_OF_ARGUMENTS = 0, 4, 16

_WRITING = (
    os.O_WRONLY
    | os.O_RDWR
    | os.O_CREAT
    | os.O_TRUNC
    | (getattr(os, "O_TMPFILE", 0) & ~getattr(os, "O_DIRECTORY", 0))
)
_CLONE_THREAD, _SIGABRT = 0x10000, 6


@cache
def filter_of_calls():
    """The filter's instructions as bytes, 8 each; empty on a machine that is not known here."""
    if platform.machine() not in _ARCHITECTURES or os.name != "posix":
        return b""
    column, architecture = _ARCHITECTURES[platform.machine()]
    program = [
        (_LOAD, 0, 0, _OFFSET_OF_ARCHITECTURE),
        (_EQUAL, 1, 0, architecture),
        _fail(_EPERM),
        (_LOAD, 0, 0, _OFFSET_OF_NUMBER),
        (_AT_LEAST, 0, 1, _OTHER_NUMBERS),
        _fail(_EPERM),
    ]
    for name, numbers in _CALLS.items():
        if numbers[column] is not None:
            rule = _rule(name)
            program += [(_EQUAL, 0, len(rule), numbers[column]), *rule]
    program.append((_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *instruction) for instruction in program)


def _rule(name):
    """What follows once the call is known to be this one."""
    allow, refuse = (_RETURN, 0, 0, _ALLOW), _fail(_EPERM)
    if name in ("open", "openat"):
        flags = _argument(1 if name == "open" else 2)
        return [flags, (_ANY_BIT, 0, 1, _WRITING), refuse, allow]
    if name == "clone":
        return [_argument(0), (_ANY_BIT, 1, 0, _CLONE_THREAD), refuse, allow]
    if name == "tgkill":  # abort() sends its own signal so
        return [_argument(2), (_EQUAL, 1, 0, _SIGABRT), refuse, allow]
    if name == "prlimit64":  # which also reads limits, with no new ones
        low, high = _argument(2), (_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS + 8 * 2 + 4)
        return [low, (_EQUAL, 0, 2, 0), high, (_EQUAL, 1, 0, 0), refuse, allow]
    if name == "clone3":  # the C library then falls back on clone, whose flags can be seen
        return [_fail(_ENOSYS)]
    return [refuse]


def _argument(index):
    """Load the low half of an argument."""
    return (_LOAD, 0, 0, _OFFSET_OF_ARGUMENTS + 8 * index)


def _fail(error):
    return (_RETURN, 0, 0, _FAIL_WITH | error)
