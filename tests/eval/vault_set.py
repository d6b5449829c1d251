"""An evaluation set from a folder of linked notes: one sentence of a section, to find the section without it.

python tests/eval/vault_set.py --vault docs --out sets/docs
mcp-memory eval run --data sets/docs

The questions need no link to be answered: what links cost them is what they cost in a vault. A link to a note is one to
each of its sections.
"""

import argparse
import hashlib
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mcp_memory_service.evaluation.known_items import known_item

_FRONT_MATTER = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)
_SECTION = re.compile(r"(?m)^(?=#{1,3} )")
_LINK = re.compile(r"\[\[([^\]|#]+)|\]\(([^)#:]+?\.md)")
MIN_SECTION_WORDS = 8


def sections(vault: Path) -> dict[str, list[str]]:
    """By the name of the note, without case."""
    found: dict[str, list[str]] = {}
    for path in sorted(vault.rglob("*.md")):
        text = _FRONT_MATTER.sub("", path.read_text(encoding="utf-8", errors="replace"))
        cut = [part.strip() for part in _SECTION.split(text) if len(part.split()) >= MIN_SECTION_WORDS]
        found.setdefault(path.stem.casefold(), cut)  # of two with one name, the first
    return found


def links_in(text: str) -> Iterator[str]:
    for wiki, path in _LINK.findall(text):
        yield Path(wiki or path).name.removesuffix(".md").casefold()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vault", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    notes = sections(asked.vault)
    ids = {
        (note, place): hashlib.sha256(f"{note}/{place}".encode()).hexdigest()[:12]
        for note, cut in notes.items()
        for place in range(len(cut))
    }
    corpus: list[dict[str, str]] = []
    queries: list[dict[str, str]] = []
    links: dict[tuple[str, str], None] = {}
    for (note, place), document in ids.items():
        text = notes[note][place]
        item = known_item(text)
        title = note.replace("-", " ")
        corpus.append({"id": document, "text": f"{title}\n{item.rest if item else text}"})
        queries += [{"id": f"q{document}", "text": item.query}] if item else []
        targets = [to for to in links_in(text) if to in notes and to != note]
        links |= {(document, ids[to, there]): None for to in targets for there in range(len(notes[to]))}
    asked.out.mkdir(parents=True, exist_ok=True)
    for name, rows in (("corpus", corpus), ("queries", queries)):
        (asked.out / f"{name}.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    (asked.out / "qrels.tsv").write_text("".join(f"{row['id']}\t{row['id'][1:]}\t1\n" for row in queries))
    (asked.out / "links.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in links))
    sys.stdout.write(f"{len(corpus)} sections, {len(queries)} queries, {len(links)} links\n")


if __name__ == "__main__":
    main()
