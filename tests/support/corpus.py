"""Notes about many projects, semantically close to each other, with one about Rathole among them."""

from itertools import cycle, islice, product
from typing import Any

RATHOLE_QUERY = "rathole project codebase architecture"
RATHOLE: dict[str, Any] = {
    "content": "Rathole tunnel setup: the server on the VPS forwards port 2333 to the home lab",
    "tags": ["rathole", "project"],
}

_PROJECTS = ("Cachekit", "Litesearch", "Quillpad", "Marlin", "Tidepool", "Foxglove", "Ironbark", "Sundial")
_ASPECTS = (
    "project codebase architecture: {0} layers between the API and the core",
    "codebase architecture decision {0}: modules talk through ports only",
    "project structure, part {0}: where the code of each component lives",
    "architecture overview {0} for newcomers to the codebase",
    "project notes {0}: how the codebase is built, tested and released",
    "refactoring {0} of the project's architecture into smaller packages",
)


def project_notes(count: int) -> list[dict[str, Any]]:
    """`count` different notes, each tagged with its project, `project` and `architecture`."""
    pairs = cycle(product(_ASPECTS, _PROJECTS))
    return [
        {
            "content": f"{project} {aspect.format(number)}",
            "tags": [project.lower(), "project", "architecture"],
            "memory_type": "note",
        }
        for number, (aspect, project) in enumerate(islice(pairs, count), start=1)
    ]


def corpus_with_rathole(count: int) -> list[dict[str, Any]]:
    notes = project_notes(count - 1)
    middle = len(notes) // 2
    return [*notes[:middle], RATHOLE, *notes[middle:]]
