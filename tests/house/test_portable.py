"""The package runs on Windows and macOS: nothing specific to some systems without a fallback."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "maskmeter"
FILES = sorted(SOURCE.rglob("*.py"))

MODULES = {
    "crypt", "curses", "fcntl", "grp", "nis", "posix", "pty", "pwd", "readline", "resource", "spwd", "syslog", "termios", "tty",
}  # fmt: skip
# Members of standard modules that some systems lack. All systems can rename, but on Windows
# it fails if the new name exists; replace does not.
PARTS = {
    "os": {
        "O_CLOEXEC", "O_DIRECTORY", "O_DIRECT", "O_DSYNC", "O_NOCTTY", "O_NOFOLLOW", "O_NONBLOCK", "O_PATH", "O_SYNC", "O_TMPFILE", "WEXITSTATUS",
        "chown", "chroot", "confstr", "copy_file_range", "ctermid", "eventfd", "fchdir", "fchmod", "fchown", "fdatasync", "fork", "forkpty",
        "fpathconf", "fstatvfs", "getegid", "geteuid", "getgid", "getgroups", "getloadavg", "getpgid", "getpgrp", "getpriority", "getresuid",
        "getsid", "getuid", "getxattr", "killpg", "lchown", "listxattr", "lockf", "major", "makedev", "memfd_create", "minor", "mkfifo", "mknod",
        "nice", "openpty", "pathconf", "pipe2", "posix_fadvise", "posix_fallocate", "posix_spawn", "pread", "preadv", "pwrite", "pwritev",
        "readv", "register_at_fork", "rename", "renames", "removexattr", "sched_getaffinity", "sched_setaffinity", "sched_yield", "sendfile",
        "setegid", "seteuid", "setgid", "setgroups", "setpgid", "setpriority", "setsid", "setuid", "setxattr", "splice", "statvfs", "sync",
        "sysconf", "tcgetpgrp", "ttyname", "uname", "unshare", "wait", "wait3", "wait4", "waitid", "writev",
    },
    "signal": {
        "ITIMER_REAL", "SIGALRM", "SIGCHLD", "SIGCONT", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGSTOP", "SIGTSTP", "SIGUSR1", "SIGUSR2",
        "SIGWINCH", "SIGXFSZ", "alarm", "getitimer", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigpending", "sigwait",
    },
    "socket": {"AF_UNIX", "socketpair", "send_fds", "recv_fds"},
    "time": {"tzset", "clock_gettime", "clock_settime", "CLOCK_MONOTONIC", "CLOCK_REALTIME"},
    "select": {"epoll", "kqueue", "poll"},
    "asyncio": {"add_signal_handler"},
}  # fmt: skip
METHODS = {"owner", "lchmod", "is_mount"}  # methods of paths
OPTIONS = {"preexec_fn", "start_new_session", "pass_fds", "dir_fd"}
TEXTS = {"read_text", "write_text"}  # Windows has another default encoding
FALLBACKS = {"ImportError", "ModuleNotFoundError", "AttributeError", "NotImplementedError"}


def not_everywhere(code):
    """Return the features without a fallback that some systems lack, with their lines."""
    tree = ast.parse(code)
    for parent in ast.walk(tree):
        for child in ast.iter_child_nodes(parent):
            child.parent = parent
    names = modules_of(tree)
    found = [
        (node.lineno, what)
        for node in ast.walk(tree)
        for what in used(node, names)
        if not has_fallback(node)
    ]
    return [f"line {line}: {what}" for line, what in sorted(set(found))]


def modules_of(tree):
    """Return the module behind each imported name, including aliases."""
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.Import)]
    return {(one.asname or one.name): one.name for node in imports for one in node.names}


def used(node, names):
    """Yield the features of a node that some systems lack."""
    if isinstance(node, ast.Import):
        yield from (one.name for one in node.names if one.name.split(".")[0] in MODULES)
    elif isinstance(node, ast.ImportFrom) and node.level == 0:
        if node.module in MODULES:
            yield node.module
        for one in node.names:
            if one.name in PARTS.get(node.module, ()):
                yield f"{node.module}.{one.name}"
    elif isinstance(node, ast.Attribute):
        owner = names.get(node.value.id) if isinstance(node.value, ast.Name) else None
        if node.attr in PARTS.get(owner, ()):
            yield f"{owner}.{node.attr}"
    elif isinstance(node, ast.Call):
        yield from used_by_call(node)


def used_by_call(node):
    """Yield options and methods that some systems lack, and text files without an encoding."""
    given = {one.arg for one in node.keywords}
    yield from sorted(given & OPTIONS)
    if not isinstance(node.func, ast.Attribute):
        return
    if node.func.attr in METHODS and not node.args and not given:
        yield f"Path.{node.func.attr}"
    if node.func.attr == "rename" and len(node.args) == 1 and not given and is_path(node.args[0]):
        yield "Path.rename"
    most = 0 if node.func.attr == "read_text" else 1
    if node.func.attr in TEXTS and "encoding" not in given and len(node.args) <= most:
        yield f"{node.func.attr} without an encoding"


def is_path(node):
    """Return whether an argument may be a path; frames are renamed with dictionaries."""
    words = ("path", "folder", "target", "file", "output")
    return any(
        isinstance(part, ast.BinOp)
        or (isinstance(part, ast.Name) and any(word in part.id.lower() for word in words))
        for part in ast.walk(node)
    )


def has_fallback(node):
    """Return whether a node is inside a try with a fallback or guarded by a check."""
    while (parent := getattr(node, "parent", None)) is not None:
        if isinstance(parent, ast.Try) and node in parent.body:
            caught = {one.id for handler in parent.handlers if handler.type for one in ast.walk(handler.type) if isinstance(one, ast.Name)}  # fmt: skip
            if caught & FALLBACKS:
                return True
        asked = isinstance(parent, ast.If | ast.IfExp) and node is not parent.test
        if asked and {"hasattr", "sys.platform", "os.name"} & set(words_of(parent.test)):
            return True
        node = parent
    return False


def words_of(test):
    return [
        ast.unparse(node) for node in ast.walk(test) if isinstance(node, ast.Name | ast.Attribute)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_the_source_uses_no_feature_that_some_systems_lack(path):
    assert not_everywhere(path.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    "code",
    [
        "import resource",
        "def peak():\n    import resource as r\n    return r.getrusage(r.RUSAGE_SELF)",
        "from fcntl import flock",
        "import pwd, os",
        "import os\nos.fork()",
        "import os as system\nsystem.getuid()",
        "from os import O_NOFOLLOW",
        "import os\nos.open(path, os.O_RDONLY | os.O_NOFOLLOW)",
        "import os\nos.fchmod(handle, 0o600)",
        "import os\nos.rename(old, new)",
        "old.rename(folder / 'new')",
        "import signal\nsignal.signal(signal.SIGALRM, stop)",
        "import os, signal\nos.kill(process, signal.SIGKILL)",
        "import subprocess\nsubprocess.Popen(words, preexec_fn=limit)",
        "path.owner()",
        "path.read_text()",
        "path.write_text('words')",
        "try:\n    import resource\nexcept ValueError:\n    pass",
        "try:\n    pass\nexcept ImportError:\n    import resource",
        "import os\nif True:\n    os.getuid()",
    ],
)
def test_the_check_finds_features_that_some_systems_lack(code):
    assert len(not_everywhere(code)) >= 1


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    import resource\nexcept ImportError:\n    resource = None",
        "import os\nflags = getattr(os, 'O_NOFOLLOW', 0)",
        "import os\nif hasattr(os, 'getuid'):\n    print(os.getuid())",
        "import sys, os\nnumber = os.getuid() if sys.platform != 'win32' else 0",
        "import os\nos.replace(old, new)\nos.umask(0)\npath.chmod(0o600)",
        "path.read_text(encoding='utf-8')",
        "path.write_text('words', encoding='utf-8')",
        "frame.rename({'a': 'b'})\nframe.rename(called)\ncolumn.rename(column.name)",
        "match.group()",
        "resource = 1\nresource.fork()",
    ],
)
def test_the_check_accepts_features_of_all_systems(code):
    assert not_everywhere(code) == []
