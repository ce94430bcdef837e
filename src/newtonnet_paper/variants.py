"""More than the paper's model as claims: NewtonNet with an adjacency branch, and with filter values of either sign."""

from newtonnet.search import model_space

from .arms import Arm, Contest, claim_of_arms
from .beyond import GRAPHS

ADJACENCY_BRANCH = claim_of_arms(
    "branch",
    # Where knowing a node's neighbours by name helps most.
    {"chameleon": "random", "squirrel": "random"},
    arms=(
        Arm("NewtonNet"),
        Arm("with branch", label="branch", fixed={"branch": 64, "branch_learning_rate": 0.003}),
        Arm("LINKX", "linkx"),  # whose idea the branch is
    ),
    contests=(
        Contest("An adjacency branch adds to NewtonNet", "with branch", "NewtonNet"),
        Contest("NewtonNet with the branch is better than LINKX", "with branch", "LINKX"),
    ),
    statement="What a network on the rows of the adjacency adds to NewtonNet, which is no part of the paper's model.",
    title="NewtonNet with an adjacency branch",
    remark="The branch adds W₂ ReLU(A W₁) to the logits and has a weight for every node, so it cannot leave its graph.",
)

SIGNED_VALUES = claim_of_arms(
    "signed",
    # Where the comparison shows NewtonNet significantly behind another method.
    {name: GRAPHS[name] for name in ("minesweeper", "johnshopkins55")},
    arms=(
        Arm("NewtonNet"),
        Arm("signed", label="signed", fixed={"nonnegative": False}),
        Arm(
            "signed, no regulariser",
            label="signed-unregularised",
            fixed={"nonnegative": False, "gammas": [0.0, 0.0, 0.0]},
            space={name: values for name, values in model_space("newtonnet").items() if name != "variant"},
        ),
    ),
    contests=(
        Contest("Filter values of either sign add to NewtonNet", "signed", "NewtonNet"),
        Contest("With signed values the regulariser is better left out", "signed, no regulariser", "signed"),
    ),
    statement="What filter values of either sign add to NewtonNet, whose values are at least 0 in the paper.",
    title="NewtonNet with filter values of either sign",
    remark="The paper's values are at least 0. These graphs were chosen after the comparison had shown NewtonNet "
    "behind on them. The search with the regulariser may set its gammas to 0.",
)
