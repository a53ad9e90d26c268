"""Take from this process what an answer does not need: files, other processes, memory without end.

The Linux kernel enforces it: `forbidden_calls` says which system calls fail, and Landlock (kernel
documentation, "Landlock: unprivileged access control") which files may be read. Where a kernel has
neither, the limits on memory and time remain.
"""

import ctypes
import os
import resource
import struct
import sys
from pathlib import Path

from gemlite_edu.runners.forbidden_calls import filter_of_calls

MORE_MEMORY = 3 << 30  # bytes, beyond what the process has when it is confined
_LARGEST_FILE = 1 << 20  # bytes; the only file is what the answer prints
_ROOT = Path(__file__).parents[2]

_NO_NEW_PRIVILEGES, _SET_SECCOMP, _FILTER = 38, 22, 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on x86-64 and on ARM
_ASK_VERSION, _BENEATH = 1, 1
# By Landlock's version: the accesses to files that it can forbid, as so many low bits.
_FILE_ACCESSES = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_FIRST_WITH_NETWORK, _FIRST_WITH_SIGNALS = 4, 6
_READ = 1 << 0 | 1 << 2 | 1 << 3  # execute, which loading a library asks for; read a file, a folder


def confine(packages):
    """Confine this process for good.

    packages: the folders of this checkout that it may still read, by their names in it.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))
    most = _own_memory() + MORE_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    _restrict_files(library, _readable(packages))
    _restrict_calls(library)


def _own_memory():
    """Bytes of this process's data, as the limit on them counts."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmData:")[2].split()[0]) << 10


def _readable(packages):
    """What Python and torch read: libraries, Python's own modules, and the learner's folder."""
    system = [
        "/usr",
        "/lib",
        "/lib64",
        "/bin",
        "/etc",
        "/opt",
        "/nix",
        "/proc/cpuinfo",
        "/dev/null",
    ]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix]
    elsewhere = [path or os.getcwd() for path in sys.path if Path(path or ".").resolve() != _ROOT]
    here = Path.cwd()
    own = [] if _ROOT == here or here in _ROOT.parents else [here]
    found = [*system, *python, *elsewhere, *own, *(_ROOT / name for name in packages)]
    return [path for path in dict.fromkeys(map(Path, found)) if path not in (_ROOT, *_ROOT.parents)]


def _restrict_files(library, readable):
    version = library.syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)
    if version < 1:
        return
    files = (1 << _FILE_ACCESSES.get(version, max(_FILE_ACCESSES.values()))) - 1
    network = 0b11 if version >= _FIRST_WITH_NETWORK else 0
    scopes = 0b11 if version >= _FIRST_WITH_SIGNALS else 0
    attributes = struct.pack("QQQ", files, network, scopes)
    if version < _FIRST_WITH_SIGNALS:
        attributes = attributes[: 16 if version >= _FIRST_WITH_NETWORK else 8]
    ruleset = library.syscall(_CREATE_RULESET, attributes, len(attributes), 0)
    for path in readable:
        if path.exists():
            _allow_reading(library, ruleset, path)
    library.syscall(_RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)


def _allow_reading(library, ruleset, path):
    place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    access = _READ if path.is_dir() else _READ & ~(1 << 3)
    library.syscall(_ADD_RULE, ruleset, _BENEATH, struct.pack("=Qi", access, place), 0)
    os.close(place)


def _restrict_calls(library):
    program = filter_of_calls()
    if not program:
        return
    instructions = ctypes.create_string_buffer(program, len(program))
    count = len(program) // 8
    described = struct.pack("HxxxxxxP", count, ctypes.addressof(instructions))
    library.prctl(_SET_SECCOMP, _FILTER, described, 0, 0)
