"""The build of the kernels: one C++ source, compiled for each instruction set. Everything else is in pyproject.toml."""

import copy
import platform

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup
from setuptools.command.build_ext import build_ext

FOLDER = "src/newtonnet/kernels"
FLAGS = ["-O3", "-fno-math-errno", "-ffp-contract=fast"]
INSTRUCTIONS = {"baseline": []}
if platform.machine() in ("x86_64", "AMD64"):
    INSTRUCTIONS["avx2"] = ["-mavx2", "-mfma"]
    INSTRUCTIONS["avx512"] = ["-mavx2", "-mfma", "-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw"]


class BuildKernels(build_ext):
    """Compiles the extensions side by side, with objects in folders of their own: they share one source."""

    def finalize_options(self) -> None:
        """Compile as many extensions at once as there are processors."""
        super().finalize_options()
        self.parallel = self.parallel or True

    def build_extension(self, ext: Pybind11Extension) -> None:
        """Compile and link one extension."""
        own = copy.copy(self)
        own.build_temp = f"{self.build_temp}/{ext.name}"
        super(BuildKernels, own).build_extension(ext)


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Pybind11Extension(
            f"newtonnet.kernels._native_{name}",
            [f"{FOLDER}/native.cpp"],
            depends=[
                f"{FOLDER}/{header}"
                for header in ("arrays.h", "encoder.h", "kernels.h", "layer.h", "scores.h", "threads.h", "vectors.h")
            ],
            define_macros=[("MODULE_NAME", f"_native_{name}")],
            extra_compile_args=[*FLAGS, *flags],
            cxx_std=20,
            optional=True,  # without a compiler torch does the same work
        )
        for name, flags in INSTRUCTIONS.items()
    ],
)
