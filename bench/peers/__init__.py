"""What a user would pick instead, each used as its documentation says.

A module has a class `Peer` with:

    packages                               whose versions are told
    build(batches, folder)                 store texts and vectors (batches as in feed.py), index them, close
    open(folder)                           be ready to answer, from what `build` left in the folder
    vector(vector, k)                      numbers of texts, best first; and whichever it has of
    keyword(text, k)
    hybrid(text, vector, k)

One that can find more of the nearest for more time has as well:

    steps                                  settings to try in turn, the least first
    settings                               those in use; none are its defaults

An answer includes reading the stored texts where the engine keeps them, as ours does.
"""
