"""Wrong requests by the thousand, at every door: is anything answered 5xx, left hanging, or dead afterwards?

Each part is a command of its own with `--seed` (see `make fuzz`); `test_*.py` are the short forms.
"""
