"""`python -m course` is `tinytorch`."""

from course.cli import main

if __name__ == "__main__":
    main()
