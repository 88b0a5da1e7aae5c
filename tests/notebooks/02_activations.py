# %% [markdown]
# # 02 · A tiny second module
#
# It needs the first.

# %% tags=["export"]
"""What can be done to a box."""

from tinytorch_ref.tensor import Box

# %% nbgrader={"grade": false, "grade_id": "relu_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder import checks as check

# %% nbgrader={"grade": false, "grade_id": "relu", "locked": false, "schema_version": 3, "solution": true, "task": false} tags=["export"]
def relu(box):
    """A box with 0 in the place of each negative number."""
    ### BEGIN SOLUTION
    return Box(box.data * (box.data > 0))
    ### END SOLUTION

# %% nbgrader={"grade": true, "grade_id": "relu_check", "locked": true, "points": 100, "schema_version": 3, "solution": false, "task": false}
# Check (100 points): one number of each sign; half the points for each.
p = check.partial(100)
with p.part(50, "the positive number"):
    check.equal(relu(Box([3])).total(), 3.0, because="it stays")
with p.part(50, "the negative number"):
    check.equal(relu(Box([-3])).total(), 0.0, because="it becomes 0")
p.score()
