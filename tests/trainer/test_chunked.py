"""Chunked and compressed files: only what is needed is read, in pieces, with the values of a plain file."""

import pickle
from pathlib import Path

import h5py
import numpy as np
import pytest
import torch
from facts import states
from test_layouts import write_cfd, write_darcy, write_grouped, write_scalar
from tiny import ensure_files, tiny_config

from trainer.config import Config
from trainer.data.batches.batch import Batch
from trainer.data.batches.feed import Feed, Share, open_feed
from trainer.data.files import measurements
from trainer.data.layouts import pieces, stored
from trainer.data.layouts.detect import open_field_file
from trainer.data.layouts.pieces import Pieces
from trainer.data.splits import open_data
from trainer.errors import ConfigError

CPU = torch.device("cpu")
CHUNK = (4, 2, 8)  # of a tensor of (40, 6, 32)


def rewrite(path: Path, target: Path, **storage: object) -> Path:
    """Copy a file with its arrays of fields stored in another way."""
    with h5py.File(path) as source, h5py.File(target, "w") as file:
        file.attrs.update(source.attrs)

        def copy(name: str, item: h5py.Dataset | h5py.Group) -> None:
            if isinstance(item, h5py.Dataset):
                file.create_dataset(name, data=item[:], **(storage if item.ndim > 1 else {}))

        source.visititems(copy)
    return target


@pytest.fixture
def plain(tmp_path) -> Config:
    """Of files with 40 trajectories, of which the config asks for 8."""
    made = ensure_files(tiny_config(tmp_path, "data.advection1d.trajectories=40").data)
    own = tmp_path / "plain"
    own.mkdir()
    for path in made:
        rewrite(path, own / path.name)
    return tiny_config(tmp_path, f"data.root={own}")


@pytest.fixture
def compressed(tmp_path, plain) -> Config:
    own = tmp_path / "compressed"
    own.mkdir()
    for path in Path(plain.data.root).glob("*.hdf5"):
        rewrite(path, own / path.name, chunks=CHUNK, compression="gzip")
    return tiny_config(tmp_path, f"data.root={own}")


@pytest.fixture
def reads(monkeypatch) -> list[tuple[str, tuple[slice, ...]]]:
    """What is read of arrays of fields, by file."""
    seen = []
    read = stored.read_part

    def seen_and_read(path, dataset, part):
        seen.append((path.name, part))
        return read(path, dataset, part)

    monkeypatch.setattr(stored, "read_part", seen_and_read)
    return seen


def feed_of(config: Config, *, path: str = "loader", workers: int = 0) -> Feed:
    train = open_data(config).train
    speed = tiny_config(
        Path(config.data.root).parent, f"speed.data_path={path}", f"speed.loader_workers={workers}"
    ).speed
    return open_feed(train, Share(train.schedule(16, 0), 0, 1, 1), 6, speed, CPU)


def updates(feed: Feed) -> list[Batch]:
    found = [batch for step in range(1, 7) for batch in feed.update(step)]
    feed.close()
    return found


def assert_same(one: list[Batch], other: list[Batch]) -> None:
    for a, b in zip(one, other, strict=True):
        for left, right in zip((*a.fields, *a.next_fields), (*b.fields, *b.next_fields), strict=True):
            assert torch.equal(left, right)


@pytest.mark.parametrize("path, workers", [("loader", 0), ("loader", 2), ("resident", 0)])
def test_a_compressed_file_trains_on_the_bits_of_a_plain_one(plain, compressed, path, workers):
    expected, found = (feed_of(config, path=path, workers=workers) for config in (plain, compressed))
    assert_same(updates(expected), updates(found))


@pytest.mark.parametrize("path", ["loader", "resident"])
def test_only_the_chunks_of_asked_trajectories_are_read_and_each_once(compressed, reads, path):
    open_data(compressed)  # measures
    measured = len(reads)
    assert measured > 0
    updates(feed_of(compressed, path=path))
    assert all(part[0].stop <= 8 for _, part in reads)
    assert all(
        (part[axis].stop - 1) // CHUNK[axis] == part[axis].start // CHUNK[axis]
        for _, part in reads
        for axis in range(3)
    )
    chunks = [
        (name, *(part[axis].start // CHUNK[axis] for axis in range(3))) for name, part in reads[measured:]
    ]
    assert len(set(chunks)) == len(chunks) <= 2 * 2 * 3 * 4  # files, and chunks of 8 trajectories


def test_a_process_holds_no_more_than_the_trajectories_of_its_split(compressed):
    train = open_data(compressed).train.tasks[0]
    train.read(np.arange(len(train.table)))
    held = [piece for reader in train.states_of_files for piece in reader.held.values()]
    assert sum(piece.nbytes for piece in held) == train.table.trajectories * 6 * 16 * 4


def test_who_goes_through_a_file_holds_two_pieces(tmp_path, compressed, monkeypatch):
    row_bytes, most = 6 * 32 * 4, []
    monkeypatch.setattr(pieces, "PIECE_BYTES", 3 * row_bytes)
    path = next(Path(compressed.data.root).glob("*.hdf5"))
    reader = open_field_file(path).states()
    assert isinstance(reader, Pieces)
    for row in range(40):
        reader.take(np.full(6, row), np.arange(6), 1)
        most.append(sum(piece.nbytes for piece in reader.held.values()))
    assert max(most) <= 2 * 3 * row_bytes


@pytest.mark.parametrize("keeps", [False, True])
@pytest.mark.parametrize("every", [1, 2])
@pytest.mark.parametrize("at_once", [1, 2**26])
@pytest.mark.parametrize("storage", [{"compression": "gzip"}, {"compression": "lzf"}, {"chunks": True}])
@pytest.mark.parametrize(
    "write",
    [write_scalar, write_darcy, lambda path: write_cfd(path, "xy"), lambda path: write_grouped(path, "xy")],
    ids=["scalar", "darcy", "cfd", "grouped"],
)
def test_every_layout_reads_the_same_from_chunks(
    tmp_path, monkeypatch, write, storage, at_once, every, keeps
):
    monkeypatch.setattr(pieces, "PIECE_BYTES", at_once)
    write(tmp_path / "plain.hdf5")
    chunked = rewrite(tmp_path / "plain.hdf5", tmp_path / "chunked.hdf5", **storage)
    expected, found = (open_field_file(path) for path in (tmp_path / "plain.hdf5", chunked))
    rows, frames = np.array([1, 0, 1, 1]), np.array([1, 0, 1, 0])
    np.testing.assert_array_equal(
        found.states(keeps=keeps).take(rows, frames, every), expected.states().take(rows, frames, every)
    )


def test_chunks_that_are_cut_anyhow_hold_the_same(tmp_path):
    random = np.random.default_rng(1)
    values = random.normal(size=(11, 5, 7)).astype(np.float32)
    rows = np.array([0, 2, 3, 7, 10])
    for _ in range(20):
        chunks = tuple(int(random.integers(1, size + 1)) for size in values.shape)
        with h5py.File(tmp_path / "a.h5", "w") as file:
            file.create_dataset("tensor", data=values, chunks=chunks, compression="lzf")
            file["x-coordinate"], file["t-coordinate"] = np.arange(7.0), np.arange(5.0)
        reader = open_field_file(tmp_path / "a.h5").states(rows)
        for every in (1, 2, 3):
            found = reader.take(np.repeat(rows, 5), np.tile(np.arange(5), 5), every)
            expected = values[rows][:, :, None, ::every].reshape(found.shape)
            np.testing.assert_array_equal(found, expected)


def test_a_trajectory_that_was_not_asked_for_is_not_taken_for_another(compressed):
    path = next(Path(compressed.data.root).glob("*.hdf5"))
    reader = open_field_file(path).states(np.array([1, 5]))
    for row in (0, 2, 6):
        with pytest.raises(IndexError, match=path.name):
            reader.take(np.array([row]), np.array([0]), 1)


def test_forked_workers_share_what_their_parent_has_read(plain, compressed):
    expected = updates(feed_of(plain))
    feed = feed_of(compressed, workers=2)
    for path in Path(compressed.data.root).glob("*.hdf5"):
        path.unlink()  # nothing is read again
    assert_same(expected, updates(feed))


def test_a_process_that_is_not_forked_gets_no_fields_and_reads_them_itself(compressed):
    train = open_data(compressed).train.tasks[0]
    pairs = np.arange(len(train.table))
    before = len(pickle.dumps(train))
    expected = train.read(pairs)
    sent = pickle.dumps(train)
    assert len(sent) < before + 1000
    for one, other in zip(expected, pickle.loads(sent).read(pairs), strict=True):
        assert torch.equal(one, other)


def test_what_is_written_again_in_chunks_has_the_hash_of_its_fields(tmp_path, monkeypatch):
    config = tiny_config(tmp_path, "data.tasks=[advection1d, darcy2d]")
    before = open_data(config).content_hash
    monkeypatch.setattr(measurements, "HASHED_BYTES", 3 * 6 * 32 * 4)
    for path in ensure_files(config.data):
        rewrite(path, tmp_path / "again.h5", chunks=True, compression="gzip").replace(path)
    assert open_data(config).content_hash == before


def test_the_hash_of_a_file_is_of_all_its_bytes_however_they_are_read(plain, monkeypatch):
    for path in Path(plain.data.root).glob("*.hdf5"):
        with h5py.File(path, "r+") as file:
            del file.attrs["content_hash"]  # as of a file that is not ours
    before = open_data(plain).content_hash
    monkeypatch.setattr(measurements, "HASHED_BYTES", 1000)
    for kept in (Path(plain.data.root) / measurements.FOLDER).iterdir():
        kept.unlink()
    assert open_data(plain).content_hash == before
    with path.open("ab") as file:
        file.write(b" ")
    assert open_data(plain).content_hash != before


def test_a_compression_that_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        unknown = {"compression": 32599, "allow_unknown_filter": True}  # in the range that nobody registers
        dataset = file.create_dataset("tensor", (2, 3, 4), np.float32, chunks=(2, 3, 4), **unknown)
        dataset.id.write_direct_chunk((0, 0, 0), bytes(96))
        file["x-coordinate"], file["t-coordinate"] = np.arange(4.0), np.arange(3.0)
    with pytest.raises(ConfigError) as caught:
        open_field_file(path)
    assert states(str(caught.value), f"{path}: tensor: .. 32599 .. gzip"), caught.value
