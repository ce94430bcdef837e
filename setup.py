"""The build of the kernels: one C++ source compiled for each instruction set. Everything else is in pyproject.toml."""

import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pybind11.setup_helpers import Pybind11Extension
from setuptools import setup
from setuptools.command.build_ext import build_ext

FOLDER = Path("src/newtonnet/kernels")
FLAGS = ["-std=gnu++17", "-O3", "-fno-math-errno", "-ffp-contract=fast", "-fvisibility=hidden"]
ON_X86 = platform.machine() in ("x86_64", "AMD64")
INSTRUCTIONS = {"baseline": []}
if ON_X86:
    INSTRUCTIONS["avx2"] = ["-mavx2", "-mfma"]
    INSTRUCTIONS["avx512"] = [*INSTRUCTIONS["avx2"], "-mavx512f", "-mavx512vl", "-mavx512dq", "-mavx512bw"]


class BuildKernels(build_ext):
    """Compiles ``kernels.cpp`` once for each instruction set and links all of them into the module."""

    def build_extension(self, ext: Pybind11Extension) -> None:
        """Compile and link one extension."""

        def compiled(name: str) -> list[str]:
            return self.compiler.compile(
                [str(FOLDER / "kernels.cpp")],
                output_dir=str(Path(self.build_temp) / name),
                macros=[("INSTRUCTIONS", name), *ext.define_macros],
                extra_postargs=[*FLAGS, *INSTRUCTIONS[name]],
                depends=ext.depends,
            )

        with ThreadPoolExecutor() as pool:
            for objects in pool.map(compiled, INSTRUCTIONS):
                ext.extra_objects += objects
        super().build_extension(ext)


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Pybind11Extension(
            "newtonnet.kernels._native",
            [str(FOLDER / "module.cpp")],
            depends=[str(FOLDER / name) for name in ("kernels.cpp", "kernels.h", "threads.h", "vectors.h")],
            define_macros=[("NEWTONNET_X86", "1")] if ON_X86 else [],
            extra_compile_args=FLAGS,
            optional=True,  # without a compiler torch does the same work
        )
    ],
)
