"""Renders charts with the Helm engine of helm-sdkpy, which is Helm's own Go code.

The engine has no `template`: it renders on the way to an install. So it is pointed at an API server of this process, which
knows the kinds of the chart, has no objects, and refuses the record of the release - the first thing that Helm writes. That
record holds everything rendered.

Standard input:  {"chart": DIRECTORY, "cases": [{"release", "namespace", "kubernetes", "values"}]}
Standard output: {"engine": VERSION, "lint": [SEVERITY], "cases": [{"manifest", "hooks", "notes"} or {"error"}]}
"""

import asyncio
import base64
import gzip
import http.server
import json
import re
import sys
import tempfile
import threading

import helm_sdkpy

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
    kubernetes = "v1.33.0"
    release = None

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
        known = discovery(path, Handler.kubernetes)
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
            Handler.release = json.loads(gzip.decompress(base64.b64decode(record[0])))
        self.refuse(403, "Forbidden")


async def render(config, chart, case):
    Handler.kubernetes = case.get("kubernetes", "v1.33.0")
    Handler.release = None
    try:
        await helm_sdkpy.Install(config).run(
            case["release"], chart, values=case.get("values") or {}, wait=False, timeout=30
        )
    except helm_sdkpy.HelmError as error:
        if Handler.release is None:
            return {"error": str(error)}
    release = Handler.release
    hooks = [hook["manifest"] for hook in release.get("hooks") or []]
    return {"manifest": release["manifest"], "hooks": hooks, "notes": release["info"].get("notes", "")}


async def main():
    order = json.load(sys.stdin)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "here", "user": "here"}}],
        "clusters": [{"name": "here", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}],
        "users": [{"name": "here", "user": {}}],
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(kubeconfig, file)
        file.flush()
        configs = {}
        rendered = []
        lint = []
        for case in order["cases"]:
            # One configuration for each namespace and version: it remembers what it discovered.
            key = (case["namespace"], case.get("kubernetes"))
            if key not in configs:
                Handler.kubernetes = case.get("kubernetes", "v1.33.0")
                configs[key] = helm_sdkpy.Configuration(namespace=case["namespace"], kubeconfig=file.name)
            rendered.append(await render(configs[key], order["chart"], case))
        for config in list(configs.values())[:1]:
            found = await helm_sdkpy.Lint(config).run(order["chart"])
            lint = [message["Severity"] for message in found["Messages"] or []]
        json.dump({"engine": helm_sdkpy.__version__, "lint": lint, "cases": rendered}, sys.stdout)


asyncio.run(main())
