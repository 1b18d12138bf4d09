"""The host's part of every function of the library, once.

`arguments` checks what is given, `call` decides once for each kind of call and runs it, `plan` is what a decision is made of,
`machine` runs it on a GPU or on the reference machine, `memory` makes arrays in the caller's library, `repeat` and `warm` make a
call again at little more than its launch, `plans` gives such a call into the caller's hand, and `axes` says what an axis is.
"""
