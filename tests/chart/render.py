"""Renders charts with the Helm engine of helm-sdkpy, which is Helm's own Go code.

The engine has no `template`: it renders on the way to an install. So it is pointed at an API server of this process, which
knows the kinds of the chart, has no objects, and refuses the record of the release - the first thing that Helm writes. That
record holds everything rendered.

Standard input:  {"chart": DIRECTORY, "cases": [{"release", "namespace", "kubernetes", "values"}]}
Standard output: {"engine": VERSION, "lint": [SEVERITY], "cases": [{"manifest", "hooks", "notes"} or {"error"}]}
"""

import asyncio
import base64
import concurrent.futures
import gzip
import http.server
import json
import re
import sys
import tempfile
import threading

import helm_sdkpy

# Cases under way at a time.
SEATS = 8

KINDS = {
    "v1": ["Service", "ServiceAccount", "ConfigMap", "Secret", "Pod"],
    "apps/v1": ["Deployment"],
    "batch/v1": ["Job"],
    "policy/v1": ["PodDisruptionBudget"],
    "networking.k8s.io/v1": ["NetworkPolicy"],
    "rbac.authorization.k8s.io/v1": ["Role", "RoleBinding"],
    "monitoring.coreos.com/v1": ["ServiceMonitor", "PrometheusRule"],
    "cert-manager.io/v1": ["Certificate", "Issuer"],
}


def plural(kind):
    return kind.lower()[:-1] + "ies" if kind.endswith("y") else kind.lower() + "s"


def discovery(path, kubernetes):
    """The answer to a question about the API, None to one about an object."""
    if path == "/version":
        major, minor, _ = kubernetes.lstrip("v").split(".")
        return {"major": major, "minor": minor, "gitVersion": kubernetes}
    if path == "/api":
        return {"kind": "APIVersions", "versions": ["v1"]}
    if path == "/apis":
        groups = [version.split("/") for version in KINDS if "/" in version]
        entry = lambda group, version: {"groupVersion": f"{group}/{version}", "version": version}
        return {
            "kind": "APIGroupList",
            "groups": [{"name": g, "versions": [entry(g, v)], "preferredVersion": entry(g, v)} for g, v in groups],
        }
    version = path.removeprefix("/apis/").removeprefix("/api/")
    if version in KINDS:
        verbs = ["create", "delete", "get", "list", "patch", "update", "watch"]
        resource = lambda kind: {"name": plural(kind), "namespaced": True, "kind": kind, "verbs": verbs}
        return {
            "kind": "APIResourceList",
            "groupVersion": version,
            "resources": [resource(kind) for kind in KINDS[version]],
        }
    return None


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Head and body are written apart; the kernel must not wait between them.
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def answer(self, code, body):
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def refuse(self, code, reason):
        status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "code": code}
        self.answer(code, {**status, "message": reason})

    def do_GET(self):
        path = self.path.split("?")[0]
        known = discovery(path, self.server.kubernetes)
        if known is not None:
            self.answer(200, known)
        elif path.endswith("/secrets"):
            self.answer(200, {"kind": "SecretList", "apiVersion": "v1", "metadata": {}, "items": []})
        else:
            self.refuse(404, "NotFound")

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        record = re.search(rb"H4sI[A-Za-z0-9+/]+=*", body)
        if record:
            self.server.release = json.loads(gzip.decompress(base64.b64decode(record[0])))
        self.refuse(403, "Forbidden")


class Server(http.server.ThreadingHTTPServer):
    """The API server of one case. It ends with the process: to end it before takes longer than its work."""

    daemon_threads = True

    def __init__(self, kubernetes):
        super().__init__(("127.0.0.1", 0), Handler)
        self.kubernetes = kubernetes
        self.release = None

    def kubeconfig(self):
        return json.dumps({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
            "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{self.server_port}"}}],
            "users": [{"name": "here", "user": {}}],
        })


async def render(chart, case, directory, seats):
    async with seats:
        server = Server(case["kubernetes"])
        threading.Thread(target=server.serve_forever, daemon=True).start()
        file = f"{directory}/{server.server_port}"
        with open(file, "w") as kubeconfig:
            kubeconfig.write(server.kubeconfig())
        config = helm_sdkpy.Configuration(namespace=case["namespace"], kubeconfig=file)
        try:
            await helm_sdkpy.Install(config).run(
                case["release"], chart, values=case["values"], wait=False, timeout=60
            )
        except helm_sdkpy.HelmError as error:
            if server.release is None:
                return {"error": str(error)}
        hooks = [hook["manifest"] for hook in server.release.get("hooks") or []]
        notes = server.release["info"].get("notes", "")
        return {"manifest": server.release["manifest"], "hooks": hooks, "notes": notes}


async def main():
    order = json.load(sys.stdin)
    asyncio.get_running_loop().set_default_executor(concurrent.futures.ThreadPoolExecutor(SEATS))
    seats = asyncio.Semaphore(SEATS)
    with tempfile.TemporaryDirectory() as directory:
        cases = [render(order["chart"], case, directory, seats) for case in order["cases"]]
        rendered = await asyncio.gather(*cases)
    found = await helm_sdkpy.Lint(helm_sdkpy.Configuration()).run(order["chart"])
    lint = [message["Severity"] for message in found["Messages"] or []]
    json.dump({"engine": helm_sdkpy.__version__, "lint": lint, "cases": rendered}, sys.stdout)


asyncio.run(main())
