"""TinyTorch, one module a file, each built from the notebook of the same number.

A student's own modules live in my_tinytorch/, where `tinytorch package NN` writes them. They take the place
of the reference modules of the same name when the environment variable TINYTORCH_USE is "mine", or, if it is
not set, when the file my_tinytorch/ACTIVE exists, which `tinytorch use mine` makes.
"""

import os

_mine = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "my_tinytorch")
_active = os.path.exists(os.path.join(_mine, "ACTIVE"))
if (os.environ.get("TINYTORCH_USE") or ("mine" if _active else "reference")) == "mine":
    __path__.insert(0, _mine)
