"""The built-in receiver: a coding agent as small as one can be, and the example of what an agent here needs.

Read `loop` first, it is the agent; then `tools`, which is what it can do, and one of `chat`, `responses` and
`messages`, which is how it talks. `__main__` puts them together.
"""
