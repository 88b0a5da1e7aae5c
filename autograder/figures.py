"""Figures that read well in light and dark notebooks, with a text for those who do not see them."""

import base64
import html
import io

# Okabe and Ito's colours: told apart by colour-blind readers, at least 3:1 against white and against dark grey.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7")
LINES = ("-", "--", "-.", ":")


def figure(width=6.4, height=3.6):
    """A Matplotlib figure with one pair of axes, in the course's style.

    Parameters
    ----------
    width, height : float
        Inches.

    Returns
    -------
    tuple
        ``(figure, axes)`` as from ``plt.subplots``.
    """
    import matplotlib.pyplot as plt
    from cycler import cycler

    style = {
        "figure.facecolor": "white",
        "font.size": 11,
        "axes.prop_cycle": cycler(color=COLOURS) + cycler(linestyle=LINES),
        "axes.grid": True,
        "grid.alpha": 0.3,
    }
    with plt.rc_context(style):
        return plt.subplots(figsize=(width, height), layout="constrained")


def show(fig, alt):
    """Display `fig` as a picture that carries its description; outside of a notebook, print the description.

    Parameters
    ----------
    fig : matplotlib.figure.Figure
        Closed afterwards, so that the notebook does not show it twice.
    alt : str
        One sentence that says what the picture shows.
    """
    import matplotlib.pyplot as plt

    if not _in_notebook():
        plt.close(fig)
        print(f"Figure: {alt}")
        return
    from IPython.display import HTML, display

    png = io.BytesIO()
    fig.savefig(png, format="png", dpi=110, facecolor="white")
    plt.close(fig)
    picture = base64.b64encode(png.getvalue()).decode("ascii")
    alt = html.escape(alt, quote=True)
    display(HTML(f'<figure><img alt="{alt}" src="data:image/png;base64,{picture}"></figure>'))


def _in_notebook():
    """Whether a notebook's kernel runs this code."""
    try:
        from IPython import get_ipython
    except ImportError:
        return False
    return get_ipython() is not None
