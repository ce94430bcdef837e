"""The application of the laboratory's command line."""

import typer

app = typer.Typer(
    name="newtonnet-paper",
    help="Reproduce the paper's claims and measure this machine.",
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
