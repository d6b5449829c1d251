"""Answers of all three doors, recorded, so that a change of the inside is seen not to change the outside.

    python -m tests.recorded.record            # compare, and print what differs
    python -m tests.recorded.record --accept   # keep what differs as the new record

A difference that is meant is listed in the CHANGELOG.
"""
