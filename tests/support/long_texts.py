"""Long texts as people keep them: many paragraphs, one of which has the answer."""

SUBJECTS = [
    "The backup of the orders database",
    "The certificate of the mail relay",
    "Every node of the build farm",
    "A new colleague in the support team",
    "The dashboard in the hallway",
    "The nightly import of invoices",
    "Old log files on the archive server",
    "The staging environment of the shop",
]
ACTIONS = [
    "is checked on the first Monday of a month, and the result goes into the shared calendar.",
    "has an owner, who is named in the inventory and answers within two working days.",
    "must not be changed on Fridays. Whoever does it anyway writes down why.",
    "was moved last spring; the steps are in the wiki, with pictures of each screen.",
    "costs little as long as it is looked after, and a weekend when it is not.",
    "is restarted by hand, because nobody trusts the script that should do it.",
    "sends its warnings to the second list, which is read in the morning.",
]
ANSWER = (
    "## Connection pool exhausted\n"
    "When checkout answers 503 and the pool of pgbouncer is exhausted, raise default_pool_size to 40 on host finch,"
    " reload pgbouncer with SIGHUP, and tell the on-call engineer in the channel payments-alerts."
)


def paragraphs(number: int) -> list[str]:
    """Different ones, none of which says anything about the answer."""
    return [
        f"### Step {i + 1}\n{SUBJECTS[i % 8]} {ACTIONS[i % 7]} {SUBJECTS[(i * 3 + 1) % 8]} {ACTIONS[(i * 5 + 2) % 7]}"
        for i in range(number)
    ]


def runbook(*answers: tuple[int, str], number: int = 90) -> str:
    """About 20,000 characters, with each answer before the paragraph of its number."""
    parts = paragraphs(number)
    for place, answer in sorted(answers, reverse=True):
        parts.insert(place, answer)
    return "\n\n".join(parts)
