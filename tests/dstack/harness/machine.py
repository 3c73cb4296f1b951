"""A rented machine on this host: an SSH server, and behind it what dstack's own agent answers to its server.

It runs the commands of the task for real. Usage: machine.py FOLDER; prints the port of its SSH server.
"""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import paramiko


class Task:
    """The commands of the job, in a process group of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.spec: dict = {}
        self.process: subprocess.Popen | None = None
        self.states: list[dict] = []
        self.logs: list[dict] = []

    def start(self) -> None:
        environment = {**os.environ, **self.spec.get("env", {}), "HOME": str(self.folder)}
        self.say("running")
        self.process = subprocess.Popen(
            self.spec["commands"],
            cwd=self.folder,
            env=environment,
            stdout=(self.folder / "task.log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        threading.Thread(target=self.wait, daemon=True).start()

    def wait(self) -> None:
        code = self.process.wait()
        reason = "done_by_runner" if code == 0 else "container_exited_with_error"
        self.say("done" if code == 0 else "failed", termination_reason=reason, exit_status=code)

    def stop(self) -> None:
        if self.process is not None and self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)

    def say(self, state: str, **facts: object) -> None:
        self.states.append({"timestamp": time.time_ns() // 10**6, "state": state, **facts})


def agent_of(task: Task) -> type[BaseHTTPRequestHandler]:
    class Agent(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            if self.path.startswith("/api/healthcheck"):
                self.answer({"service": "dstack-runner", "version": "0.22.5"})
            elif self.path.startswith("/api/pull"):
                after = int(self.path.partition("timestamp=")[2] or 0)
                states = [state for state in task.states if state["timestamp"] > after]
                last = max((state["timestamp"] for state in task.states), default=after)
                self.answer(
                    {
                        "job_states": states,
                        "job_logs": [],
                        "runner_logs": [],
                        "last_updated": last,
                        "has_more": False,
                    }
                )
            else:
                self.answer({}, 404)

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if self.path.startswith("/api/submit"):
                task.spec = json.loads(body)["job_spec"]
            elif self.path.startswith("/api/run"):
                task.start()
                self.answer({"working_dir": str(task.folder), "username": "root"})
                return
            elif self.path.startswith("/api/stop"):
                task.stop()
            self.answer({})

        def answer(self, value: object, status: int = 200) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: object) -> None:
            pass

    return Agent


class AnyKey(paramiko.ServerInterface):
    def check_auth_publickey(self, username: str, key: paramiko.PKey) -> int:
        return paramiko.AUTH_SUCCESSFUL

    def get_allowed_auths(self, username: str) -> str:
        return "publickey"

    def check_channel_request(self, kind: str, chanid: int) -> int:
        return paramiko.OPEN_SUCCEEDED

    def check_channel_direct_tcpip_request(self, chanid: int, origin: tuple, destination: tuple) -> int:
        return paramiko.OPEN_SUCCEEDED


def pump(source: object, target: object) -> None:
    gone = (OSError, EOFError)
    with contextlib.suppress(*gone):
        while data := source.recv(65536):
            target.sendall(data)
    for end in (source, target):
        with contextlib.suppress(*gone):
            end.close()


def serve(connection: socket.socket, key: paramiko.PKey, agent_port: int) -> None:
    transport = paramiko.Transport(connection)
    transport.add_server_key(key)
    try:
        transport.start_server(server=AnyKey())
    except (paramiko.SSHException, EOFError):
        return
    while transport.is_active():
        channel = transport.accept(1)
        if channel is None:
            continue
        agent = socket.create_connection(("127.0.0.1", agent_port))
        for ends in ((channel, agent), (agent, channel)):
            threading.Thread(target=pump, args=ends, daemon=True).start()


def main() -> None:
    folder = Path(sys.argv[1])
    task = Task(folder)
    agent = ThreadingHTTPServer(("127.0.0.1", 0), agent_of(task))
    threading.Thread(target=agent.serve_forever, daemon=True).start()
    key = paramiko.ECDSAKey.generate()
    listener = socket.create_server(("127.0.0.1", 0))
    signal.signal(signal.SIGTERM, lambda *_: (task.stop(), os._exit(0)))
    print(listener.getsockname()[1], flush=True)
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, key, agent.server_port), daemon=True).start()


main()
