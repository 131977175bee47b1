# SPDX-License-Identifier: Apache-2.0
"""Nodes in processes that are forked from one that has everything imported and compiled.

A node takes seconds of processor time to import its modules and to load its kernels. Tests that
are not about that fork it instead: each node still is a process of its own.
"""

from __future__ import annotations

import array
import importlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

#: Time between two checks for children that have ended. s.
_PACE = 0.02


class ForkServer:
    """The client of the process that forks; ends it when closed.

    Parameters
    ----------
    folder : Path
        Working folder of the nodes.
    """

    def __init__(self, folder: Path):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._server = subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())], cwd=folder,
            pass_fds=(theirs.fileno(),), stdin=subprocess.DEVNULL)
        theirs.close()

    def start(self, module: str, arguments: Sequence[str], environment: Mapping[str, str]
              ) -> ForkedProcess:
        """Fork a node; the module has a function ``main``."""
        pipes = [os.pipe() for _ in range(3)]
        request = json.dumps([module, list(arguments), dict(environment)]).encode()
        fds = array.array('i', [write for _, write in pipes])
        self._socket.sendmsg([request], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, fds)])
        for _, write in pipes:
            os.close(write)
        pid = int(self._socket.recv(32))
        return ForkedProcess(pid, *(read for read, _ in pipes))

    def close(self) -> None:
        """End the server."""
        self._socket.close()
        self._server.wait(20.0)


class ForkedProcess:
    """A forked node, used as a `subprocess.Popen` with text pipes."""

    def __init__(self, pid: int, output: int, errors: int, status: int):
        self.pid, self._status = pid, status
        self.stdout, self.stderr = (os.fdopen(fd, encoding='utf-8', errors='replace')
                                    for fd in (output, errors))
        self.returncode: int | None = None

    def poll(self, timeout: float = 0.0) -> int | None:
        """Exit status, negative for a signal, None while the node runs."""
        if self.returncode is None and select.select([self._status], [], [], timeout)[0]:
            text = os.read(self._status, 32)
            os.close(self._status)
            self.returncode = int(text) if text else -signal.SIGKILL
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the node has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """Read stdout and stderr until both end, and the exit status."""
        found = ['', '']

        def read(index: int, pipe: Any) -> None:
            if not pipe.closed:
                found[index] = pipe.read()

        threads = [threading.Thread(target=read, args=(index, pipe), daemon=True)
                   for index, pipe in enumerate((self.stdout, self.stderr))]
        for thread in threads:
            thread.start()
        end = None if timeout is None else time.monotonic() + timeout
        for thread in threads:
            thread.join(None if end is None else max(0.0, end - time.monotonic()))
        left = 1e6 if end is None else max(0.0, end - time.monotonic())
        if any(thread.is_alive() for thread in threads) or self.poll(left) is None:
            raise subprocess.TimeoutExpired('node', timeout)
        self.stdout.close()
        self.stderr.close()
        return found[0], found[1]


def _serve(connection: socket.socket) -> None:
    """Fork a node for each request, and report how each ends, until the client is gone."""
    pipes: dict[int, int] = {}
    while True:
        if select.select([connection], [], [], _PACE)[0]:
            request, control, _, _ = connection.recvmsg(1 << 20, socket.CMSG_SPACE(12))
            if not request:
                return
            output, errors, status = array.array('i', control[0][2])
            pid = os.fork()
            if pid == 0:
                connection.close()
                for pipe in (*pipes.values(), status):
                    os.close(pipe)
                _run(*json.loads(request), output, errors)
            os.close(output)
            os.close(errors)
            pipes[pid] = status
            connection.send(str(pid).encode())
        for pid in list(pipes):
            ended, how = os.waitpid(pid, os.WNOHANG)
            if ended:
                os.write(pipes[pid], str(os.waitstatus_to_exitcode(how)).encode())
                os.close(pipes.pop(pid))


def _run(module: str, arguments: list[str], environment: dict[str, str], output: int,
         errors: int) -> None:
    """Be the node, in the child."""
    status = 1
    try:
        os.dup2(output, 1)
        os.dup2(errors, 2)
        os.close(output)
        os.close(errors)
        os.environ.clear()
        os.environ.update(environment)
        sys.argv = [module, *arguments]
        from robot_dynamics.nodes.ros.stopping import StopRequest
        StopRequest.first_parent = os.getppid()
        status = importlib.import_module(module).main()
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os._exit(status)


if __name__ == '__main__':
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.path.insert(0, str(Path.cwd()))
    from robot_dynamics.bringup.warmup import every_node, warm_up
    from robot_dynamics.nodes.documents import parameters  # noqa: F401

    warm_up(every_node())
    _serve(socket.socket(fileno=int(sys.argv[1])))
