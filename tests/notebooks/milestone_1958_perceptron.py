# %% [markdown]
# # Milestone 1 · A tiny milestone
#
# | | |
# |---|---|
# | **Time** | 1 to 2 hours |
# | **Bar** | a sum of at least 5 |

# %% nbgrader={"grade": false, "grade_id": "sum_setup", "locked": true, "schema_version": 3, "solution": false, "task": false}
from autograder import checks as check
from tinytorch_ref.tensor import Box

# %% nbgrader={"grade": false, "grade_id": "sum", "locked": false, "schema_version": 3, "solution": true, "task": false}
def best():
    """A box whose sum is large."""
    ### BEGIN SOLUTION
    return Box([2, 3])
    ### END SOLUTION

# %%
print("On the way")
print(f"Result: a sum of {best().total():g}")

# %% nbgrader={"grade": true, "grade_id": "sum_check", "locked": true, "points": 5, "schema_version": 3, "solution": false, "task": false}
# Check (5 points): the bar.
check.equal(best().total() >= 5, True, because="the bar is a sum of 5")

# %% nbgrader={"grade": true, "grade_id": "sum_hidden", "locked": true, "points": 2, "schema_version": 3, "solution": false, "task": false}
# Hidden tests (2 points): the numbers.
### BEGIN HIDDEN TESTS
print("Result: of a hidden test")
check.equal(best().total(), 5.0, because="two and three")
### END HIDDEN TESTS
