"""Turn what the Hub's client raises into one line: what, where, what next."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from storyalign.errors import HubError


class HubUnreachableError(HubError):
    """The Hub was not asked, or did not answer at all."""


@contextmanager
def hub_errors(repo: str) -> Iterator[None]:
    """Raise ``HubError`` for everything that the Hub or the way to it can do wrong within the block."""
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, OfflineModeIsEnabled

    try:
        yield
    except HfHubHTTPError as error:
        raise HubError(_refused(error, repo)) from error
    except OfflineModeIsEnabled as error:
        raise HubUnreachableError(f"{repo}: HF_HUB_OFFLINE is set; unset it to reach the Hub") from error
    except HFValidationError as error:
        raise HubError(f"{repo}: not a repository id; write ORG/NAME with letters, digits, '-', '_' and '.'") from error
    except ValueError as error:
        raise HubError(f"{repo}: {_one_line(error)}") from error  # a card that the Hub does not take, a bad answer
    except RuntimeError as error:
        # The client wraps what happened to one of several uploads.
        cause = error.__cause__
        if isinstance(cause, HfHubHTTPError):
            raise HubError(_refused(cause, repo)) from error
        if cause is not None and is_connection_error(cause):
            raise HubUnreachableError(_unreachable(cause, repo)) from error
        raise
    except Exception as error:
        if not is_connection_error(error):
            raise
        raise HubUnreachableError(_unreachable(error, repo)) from error


def is_connection_error(error: BaseException) -> bool:
    """Return whether the way to the Hub failed: nothing listens, the line was cut, the time ran out."""
    try:
        import httpx2 as http  # the client of huggingface_hub 2
    except ModuleNotFoundError:
        import httpx as http  # type: ignore[no-redef]  # and of huggingface_hub 1

    return isinstance(error, http.TransportError | ConnectionError | TimeoutError)


def _refused(error: Exception, repo: str) -> str:
    status = error.response.status_code  # type: ignore[attr-defined]
    reason = error.response.headers.get("X-Error-Message") or _one_line(error)  # type: ignore[attr-defined]
    advice = {
        401: "log in with `hf auth login`, or set HF_TOKEN to a token that may write there",
        403: "the token may not write there; take one with write access to this organisation",
        404: "no such repository, or the token may not see it; check ORG/NAME and the token",
        409: "it is there already; choose another name",
        412: "somebody else committed meanwhile; run the same command again",
        413: "too large; split the data into more files",
        429: "too many requests; wait some minutes and run the same command again",
    }.get(status, "the Hub has a problem; run the same command later" if status >= 500 else "see the message")
    return f"{repo}: the Hub answered {status} ({reason}); {advice}"


def _unreachable(error: BaseException, repo: str) -> str:
    detail = _one_line(error) or type(error).__name__
    return f"{repo}: the Hub could not be reached ({detail}); check the network, and HF_ENDPOINT if you set it"


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]
