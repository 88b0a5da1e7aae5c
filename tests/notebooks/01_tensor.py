# %% [markdown]
# # 01 · A tiny module
#
# Two exercises, to try the course's tools on.

# %% tags=["export"]
"""A box around a list of numbers."""

import math

import numpy as np

# %% nbgrader={"grade": false, "grade_id": "tiny_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
import matplotlib.pyplot as plt
from autograder import checks as check
from autograder.counters import count, peak_memory

# %% nbgrader={"grade": false, "grade_id": "tiny_box", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
class Box:
    """Numbers in a box.

    Parameters
    ----------
    values : list of float
    """

    def __init__(self, values):
        self.data = np.array(values, dtype=np.float32)

    def total(self):
        """Sum of all numbers.

        Returns
        -------
        float

        Hints: NumPy knows how to add.
        The sum of nothing is 0.
        """
        ### BEGIN SOLUTION
        return float(self.data.sum())
        ### END SOLUTION

# %%
# Try it.
Box([1, 2, 3]).data

# %% nbgrader={"grade": true, "grade_id": "tiny_box_check", "locked": true, "points": 40, "schema_version": 3, "solution": false, "task": false}
# Check (40 points): sum of three numbers, and of none.
check.equal(Box([1, 2, 3]).total(), 6.0, because="all numbers count")
check.equal(Box([]).total(), 0.0, because="the sum of nothing is 0")

# %% nbgrader={"grade": true, "grade_id": "tiny_box_hidden", "locked": true, "points": 20, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (20 points): negative numbers.
### BEGIN HIDDEN TESTS
check.equal(Box([-7, 5]).total(), -2.0, because="a minus stays a minus")
### END HIDDEN TESTS

# %% nbgrader={"grade": false, "grade_id": "tiny_norm", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def norm(box):
    """Length of the numbers in a box, as a vector."""
    ### BEGIN SOLUTION
    return math.sqrt(float((box.data**2).sum()))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "tiny_norm_check", "locked": true, "points": 30, "schema_version": 3, "solution": false, "task": false}
# Check (30 points): a triangle that everybody knows.
check.equal(norm(Box([3, 4])), 5.0, because="the root of the sum of squares")

# %% [markdown] nbgrader={"grade": true, "grade_id": "tiny_why", "locked": false, "points": 10, "schema_version": 3, "solution": true, "task": false}
# Why float32?
#
# ### BEGIN SOLUTION
# Half the bytes.
# ### END SOLUTION
