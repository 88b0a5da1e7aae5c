"""The course as a program: build, hand-out, checks, and the `tinytorch` command line."""
