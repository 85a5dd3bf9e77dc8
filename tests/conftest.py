"""Every test process gets a Hugging Face home of its own, offline: set here, before any library reads it."""

import atexit
import os
import shutil
import signal
import tempfile

# Started in the background by a script, this process and the servers of its tests would ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)

_home = tempfile.mkdtemp(prefix="storyalign-hf-")
atexit.register(shutil.rmtree, _home, ignore_errors=True)
os.environ["HF_HOME"] = _home
os.environ["HF_HUB_OFFLINE"] = "1"
os.environ.pop("HF_TOKEN", None)
# Many tests start a process of their own: with compiled files each starts half a second sooner.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
