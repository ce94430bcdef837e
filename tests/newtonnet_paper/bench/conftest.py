"""A profile of a few seconds, on graphs of a few nodes."""

import pytest

from newtonnet_paper.bench import GraphSize, Profile

TINY = GraphSize("tiny", nodes=80, edges=200, largest=30, skew=0.5, features=20, per_row=2, classes=3)


@pytest.fixture(scope="session")
def tiny_size():
    return TINY


@pytest.fixture(scope="session")
def tiny_profile():
    return Profile(
        name="tiny",
        graphs=(TINY,),
        real=False,
        methods=("newtonnet", "mlp", "bernnet"),
        large=GraphSize("large-sized", nodes=100, edges=300, largest=30, skew=0.5, features=30, per_row=3),
        kernels_off=(TINY,),
        stacks=(TINY,),
        populations=(1, 64),
        kernel=((TINY, (2, 8)),),
        roofline=((TINY, (1, 64)),),
        stack_widths=(8,),
        growth_edges=(200, 800, 3200),
        growth_size=GraphSize("growth", nodes=40, edges=100, largest=20, skew=0.5),
        degrees=(2, 4, 8),
        degree_size=TINY,
        memory=(GraphSize("big-sized", nodes=1000, edges=3000, largest=100, skew=0.5),),
        costs=(TINY,),
        rounds=1,
        seconds=0.001,
        copy_bytes=2**22,
    )
