"""A Hub to test against: the endpoints that today's client libraries call, as one real HTTP process.

``python -m tests.support.hub_stand_in`` prints its address on the first line and serves until it is killed.
``--token`` gives the one token that may write and read what is private. ``POST /_stand_in/faults`` plants faults,
``GET /_stand_in/log`` lists what was asked. Contents stay under ``--root``; everything else is in memory.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import hashlib
import json
import re
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import uvicorn
import yaml
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from tests.support.hub_store import Blobs, RefusedError, Repo

KINDS = {"models": "model", "datasets": "dataset", "spaces": "space"}
NAME = r"(?P<name>[^/]+/[^/]+)"
API = rf"/api/(?P<kind>models|datasets|spaces)/{NAME}"
WEB = rf"/(?:(?P<kind>datasets|spaces)/)?{NAME}"
ROUTES: list[tuple[str, re.Pattern[str], str]] = [
    ("GET", re.compile("/api/whoami-v2"), "whoami"),
    ("POST", re.compile("/api/repos/create"), "create"),
    ("POST", re.compile("/api/validate-yaml"), "validate_yaml"),
    ("GET", re.compile(rf"{API}(?:/revision/(?P<revision>[^/]+))?"), "info"),
    ("POST", re.compile(rf"{API}/preupload/(?P<revision>[^/]+)"), "preupload"),
    ("POST", re.compile(rf"{API}/commit/(?P<revision>[^/]+)"), "commit"),
    ("GET", re.compile(rf"{API}/commits/(?P<revision>[^/]+)"), "commits"),
    ("GET", re.compile(rf"{API}/tree/(?P<revision>[^/]+)(?:/(?P<path>.+))?"), "tree"),
    ("POST", re.compile(rf"{API}/paths-info/(?P<revision>[^/]+)"), "paths_info"),
    ("GET", re.compile(rf"{API}/refs"), "refs"),
    ("POST", re.compile(rf"{API}/branch/(?P<branch>[^/]+)"), "branch"),
    ("POST", re.compile(rf"{API}/tag/(?P<revision>[^/]+)"), "tag"),
    ("GET", re.compile(rf"{API}/runtime"), "runtime"),
    ("GET", re.compile(rf"{API}/variables"), "variables"),
    ("POST", re.compile(rf"{API}/variables"), "set_variable"),
    ("POST", re.compile(rf"{WEB}\.git/info/lfs/objects/batch"), "lfs_batch"),
    ("PUT", re.compile(r"/_lfs/(?P<oid>[0-9a-f]{64})"), "lfs_put"),
    ("GET", re.compile(rf"{WEB}/resolve/(?P<revision>[^/]+)/(?P<path>.+)"), "file"),
]


class Hub:
    """All repositories, the one token, planted faults, and the log of requests."""

    def __init__(self, root: Path, token: str, address: str):
        self.blobs, self.token, self.address = Blobs(root / "blobs"), token, address
        self.repos: dict[tuple[str, str], Repo] = {}
        self.faults: list[dict[str, Any]] = []
        self.log: list[dict[str, Any]] = []
        self.waiting = 0

    async def serve(self, request: Request) -> Response:
        path = request.scope["raw_path"].decode().partition("?")[0]
        if path.startswith("/_stand_in/"):
            return await self.control(request, path)
        entry = {"method": request.method, "path": path, "authorized": "authorization" in request.headers}
        self.log.append(entry)
        try:
            response = await self.fault(request, entry) or await self.answer(request, path)
            if entry.pop("lose", False):
                response = _dead_line()
        except RefusedError as refused:
            headers = {"X-Error-Message": refused.message} | ({"X-Error-Code": refused.code} if refused.code else {})
            response = JSONResponse({"error": refused.message}, refused.status, headers)
        except ClientDisconnect:
            response = Response(status_code=499)
        entry["status"] = response.status_code
        return response

    async def control(self, request: Request, path: str) -> Response:
        if path.endswith("/faults"):
            self.faults = await request.json()
        return JSONResponse({"log": self.log})

    async def fault(self, request: Request, entry: dict[str, Any]) -> Response | None:
        """Carry out the first planted fault that fits.

        ``status``: answer that. ``cut``: the line goes dead while the request comes in. ``lose``: the request is
        carried out, and the line goes dead on the answer. ``delay``: wait so many seconds first. ``meet``: wait until
        so many requests wait here.
        """
        for fault in self.faults:
            if fault.get("times", 1) and request.method == fault["method"] and re.search(fault["path"], entry["path"]):
                fault["times"] = fault.get("times", 1) - 1
                if "status" in fault:
                    raise RefusedError(fault["status"], "a planted fault")
                if fault.get("cut"):
                    async for _ in request.stream():
                        break
                    return _dead_line()
                if "meet" in fault:
                    self.waiting += 1
                    while self.waiting % fault["meet"]:
                        await asyncio.sleep(0.02)
                await asyncio.sleep(fault.get("delay", 0))
                entry["lose"] = fault.get("lose", False)
                return None
        return None

    async def answer(self, request: Request, path: str) -> Response:
        method = "GET" if request.method == "HEAD" else request.method
        for verb, pattern, name in ROUTES:
            match = pattern.fullmatch(path) if verb == method else None
            if match:
                fields = {k: unquote(v) if v else v for k, v in match.groupdict().items()}
                if "name" in fields:
                    fields["repo"] = self.repo(request, fields)
                return await getattr(self, name)(request, **fields)
        raise RefusedError(404, f"no such endpoint: {request.method} {path}")

    def authorized(self, request: Request) -> bool:
        given = request.headers.get("authorization")
        if given and given != f"Bearer {self.token}":
            raise RefusedError(401, "Invalid credentials in Authorization header")
        return given is not None

    def repo(self, request: Request, fields: dict[str, Any]) -> Repo:
        key = (KINDS[fields.pop("kind") or "models"], fields.pop("name"))
        authorized, repo = self.authorized(request), self.repos.get(key)
        writes = request.method in ("POST", "PUT", "DELETE") and "/paths-info/" not in request.url.path
        if repo is None or ((repo.private or writes) and not authorized):
            # The Hub does not tell apart what is missing and what is hidden.
            raise RefusedError(404 if authorized else 401, "Repository not found", "RepoNotFound")
        return repo

    async def whoami(self, request: Request) -> Response:
        if not self.authorized(request):
            raise RefusedError(401, "Invalid username or password.")
        return JSONResponse({"type": "user", "name": "someone", "orgs": [{"type": "org", "name": "demo"}]})

    async def create(self, request: Request) -> Response:
        if not self.authorized(request):
            raise RefusedError(401, "Invalid username or password.")
        asked = await request.json()
        kind, name = asked.get("type") or "model", f"{asked.get('organization') or 'someone'}/{asked['name']}"
        url = f"{self.address}/{'' if kind == 'model' else kind + 's/'}{name}"
        if (kind, name) in self.repos:
            return JSONResponse({"error": "You already created this repo", "url": url}, 409)
        self.repos[kind, name] = Repo(kind, name, asked.get("visibility") == "private", self.blobs)
        return JSONResponse({"url": url, "name": name})

    async def validate_yaml(self, request: Request) -> Response:
        text = (await request.json())["content"]
        front = text.split("---\n")[1] if text.startswith("---\n") else "{}"
        try:
            good = isinstance(yaml.safe_load(front), dict)
        except yaml.YAMLError:
            good = False
        errors = [] if good else [{"message": "the front matter is no YAML mapping"}]
        return JSONResponse({"errors": errors, "warnings": []}, 400 if errors else 200)

    async def info(self, request: Request, repo: Repo, revision: str | None) -> Response:
        commit = repo.resolve(revision or "main")
        siblings: list[dict[str, Any]] = [{"rfilename": path} for path in sorted(commit.files)]
        facts = {"sha": commit.sha, "private": repo.private, "siblings": siblings, "tags": [], "disabled": False}
        if repo.kind == "space":
            facts["host"] = repo.variables.get("STAND_IN_HOST")  # where a test serves the Space
        return JSONResponse({"_id": repo.name, "id": repo.name, "gated": False, "likes": 0, "downloads": 0, **facts})

    async def runtime(self, request: Request, repo: Repo) -> Response:
        return JSONResponse({"stage": "RUNNING", "hardware": {"current": "cpu-basic", "requested": "cpu-basic"}})

    async def preupload(self, request: Request, repo: Repo, revision: str) -> Response:
        files, answers = repo.resolve(revision).files, []
        for asked in (await request.json())["files"]:
            mode, there = repo.upload_mode(asked["path"], asked["size"]), files.get(asked["path"])
            oid = None if there is None else (there.sha256 if there.lfs else there.git_oid)
            answers.append({"path": asked["path"], "uploadMode": mode, "shouldIgnore": False, "oid": oid})
        return JSONResponse({"files": answers})

    async def commit(self, request: Request, repo: Repo, revision: str) -> Response:
        lines = [json.loads(line) for line in (await request.body()).splitlines()]
        commit, pull_request = repo.commit(revision, lines, "create_pr" in request.query_params)
        web = f"{self.address}/{'' if repo.kind == 'model' else repo.kind + 's/'}{repo.name}"
        answer = {"commitUrl": f"{web}/commit/{commit.sha}", "commitOid": commit.sha, "success": True}
        if pull_request:
            answer["pullRequestUrl"] = f"{web}/discussions/{pull_request.rpartition('/')[2]}"
        return JSONResponse(answer)

    async def commits(self, request: Request, repo: Repo, revision: str) -> Response:
        same = {"authors": [], "date": "2026-01-01T00:00:00.000Z"}
        return JSONResponse(
            [{"id": c.sha, "title": c.title, "message": c.description, **same} for c in repo.history(revision)]
        )

    async def tree(self, request: Request, repo: Repo, revision: str, path: str | None) -> Response:
        files, prefix = repo.resolve(revision).files, f"{path}/" if path else ""
        inside = sorted(p for p in files if p.startswith(prefix))
        if path and not inside:
            raise RefusedError(404, f"{path} does not exist", "EntryNotFound")
        folders = {f"{prefix}{head}" for p in inside for head in _parents(p.removeprefix(prefix))}
        if request.query_params.get("recursive", "false").lower() != "true":
            inside, folders = (
                [p for p in found if "/" not in p.removeprefix(prefix)] for found in (inside, sorted(folders))
            )
        rows = [_folder(f) for f in sorted(folders)] + [files[p].listing(p) for p in inside]
        return JSONResponse(rows)

    async def paths_info(self, request: Request, repo: Repo, revision: str) -> Response:
        files = repo.resolve(revision).files
        asked = [str(p) for p in (await request.form()).getlist("paths")]
        found = [files[p].listing(p) for p in asked if p in files]
        found += [_folder(p) for p in asked if p and any(f.startswith(p + "/") for f in files)]
        return JSONResponse(found)

    async def refs(self, request: Request, repo: Repo) -> Response:
        def listing(refs: dict[str, str], prefix: str) -> list[dict[str, str]]:
            return [{"name": n, "ref": prefix + n, "targetCommit": sha} for n, sha in refs.items()]

        answer = {"branches": listing(repo.branches, "refs/heads/"), "tags": listing(repo.tags, "refs/tags/")}
        return JSONResponse({**answer, "converts": [], "pullRequests": listing(repo.pull_requests, "")})

    async def branch(self, request: Request, repo: Repo, branch: str) -> Response:
        start = (await request.json()).get("startingPoint") or "main"
        if branch in repo.branches:
            raise RefusedError(409, f"Reference already exists: {branch}")
        repo.branches[branch] = repo.resolve(start).sha
        return JSONResponse({})

    async def tag(self, request: Request, repo: Repo, revision: str) -> Response:
        tag = (await request.json())["tag"]
        if tag in repo.tags:
            raise RefusedError(409, f"Tag {tag} already exists")
        repo.tags[tag] = repo.resolve(revision).sha
        return JSONResponse({})

    async def variables(self, request: Request, repo: Repo) -> Response:
        same = {"description": None, "updatedAt": "2026-01-01T00:00:00.000Z"}
        return JSONResponse({key: {"key": key, "value": value, **same} for key, value in repo.variables.items()})

    async def set_variable(self, request: Request, repo: Repo) -> Response:
        asked = await request.json()
        repo.variables[asked["key"]] = asked["value"]
        return await self.variables(request, repo)

    async def lfs_batch(self, request: Request, repo: Repo) -> Response:
        objects = []
        for asked in (await request.json())["objects"]:
            row = {"oid": asked["oid"], "size": asked["size"]}
            if not self.blobs.path(asked["oid"]).exists():
                row["actions"] = {"upload": {"href": f"{self.address}/_lfs/{asked['oid']}"}}
            objects.append(row)
        return JSONResponse({"transfer": "basic", "objects": objects})

    async def lfs_put(self, request: Request, oid: str) -> Response:
        data = b"".join([chunk async for chunk in request.stream()])
        if hashlib.sha256(data).hexdigest() != oid:
            raise RefusedError(400, f"the bytes received do not hash to {oid}")
        self.blobs.put(data)
        return Response()

    async def file(self, request: Request, repo: Repo, revision: str, path: str) -> Response:
        commit = repo.resolve(revision)
        entry = commit.files.get(path)
        if entry is None:
            raise RefusedError(404, f"{path} does not exist", "EntryNotFound")
        headers = {"X-Repo-Commit": commit.sha, "ETag": f'"{entry.sha256 if entry.lfs else entry.git_oid}"'}
        return FileResponse(self.blobs.path(entry.sha256), media_type="application/octet-stream", headers=headers)


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: i + 1]) for i in range(len(parts))]


def _folder(path: str) -> dict[str, Any]:
    return {"type": "directory", "path": path, "oid": hashlib.sha1(path.encode()).hexdigest(), "size": 0}


def _dead_line() -> Response:
    """Promise more bytes than come: the server closes the connection in the middle of the answer."""

    async def nothing() -> AsyncIterator[bytes]:
        yield b""

    return StreamingResponse(nothing(), headers={"Content-Length": "1000"})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--token", required=True)
    options = parser.parse_args()
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    hub = Hub(options.root, options.token, address)
    app = Starlette(routes=[Route("/{path:path}", hub.serve, methods=["GET", "HEAD", "POST", "PUT", "DELETE"])])
    print(address, flush=True)
    with contextlib.suppress(KeyboardInterrupt):
        uvicorn.Server(uvicorn.Config(app, log_level="critical", log_config=None)).run(sockets=[listener])


if __name__ == "__main__":
    main()
