"""What may not be in a release: pickles under any name, code beside data, links that lead nowhere."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path

import pytest

from storyalign.errors import DataError
from storyalign.hub.payload import collect, is_pickle


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "README.md").write_text("card")
    (tmp_path / "sub/config.json").write_text("{}")
    return tmp_path


def test_files_and_digests(folder: Path) -> None:
    for ignored in (".git/HEAD", "__pycache__/a.pyc", ".gitattributes", ".cache/huggingface/x", "half.tmp"):
        (folder / ignored).parent.mkdir(parents=True, exist_ok=True)
        (folder / ignored).write_text("x")
    first = collect(folder, "model")
    assert list(first.files) == ["README.md", "sub/config.json"]
    # sha256 of "card" and of "{}", by sha256sum
    assert first.sha256["sub/config.json"] == "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    (folder / "sub/config.json").write_text("{} ")
    assert collect(folder, "model").digest != first.digest


@pytest.mark.parametrize(
    "name", ["training_args.bin", "optimizer.pt", "rng_state.pth", "deep/er.pkl", "noending", "x.dat"]
)
def test_pickles(folder: Path, name: str) -> None:
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataError, match=f"{name} can run code when loaded"):
        collect(folder, "model")


def test_a_pickle_inside_an_archive(folder: Path) -> None:
    with zipfile.ZipFile(folder / "weights.zip", "w") as archive:
        archive.writestr("weights/data.pkl", pickle.dumps([]))
    with pytest.raises(DataError, match=r"weights\.zip can run code"):
        collect(folder, "model")


def test_safetensors_are_no_pickle(tmp_path: Path) -> None:
    """A header of 640 bytes begins with the two bytes of a pickle."""
    path = tmp_path / "model.safetensors"
    path.write_bytes((640).to_bytes(8, "little") + b"{}".ljust(640))
    assert path.read_bytes()[:2] == b"\x80\x02"
    assert not is_pickle(path)


@pytest.mark.parametrize("kind", ["dataset", "model"])
def test_code_beside_data(folder: Path, kind: str) -> None:
    (folder / "storyrmb.py").write_text("print()")
    with pytest.raises(DataError, match=r"holds no code, but storyrmb\.py"):
        collect(folder, kind)  # type: ignore[arg-type]
    assert "storyrmb.py" in collect(folder, "space").files


def test_links(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "accuracy.py"
    outside.write_text("shared")
    (folder / "accuracy.py").symlink_to(outside)
    assert collect(folder, "metric").read("accuracy.py") == b"shared"
    (folder / "gone.txt").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"gone\.txt: a link to nothing"):
        collect(folder, "metric")
    (folder / "gone.txt").unlink()
    (folder / "linked").symlink_to(outside.parent)
    with pytest.raises(DataError, match="linked: a link to a folder"):
        collect(folder, "metric")


def test_no_folder_and_no_card(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        collect(tmp_path / "nothing", "model")
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match=r"no README\.md"):
        collect(tmp_path, "model")
