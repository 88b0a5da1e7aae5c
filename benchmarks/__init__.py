"""How fast the framework and the grader are, against PyTorch on the processor and against plain nbgrader."""
