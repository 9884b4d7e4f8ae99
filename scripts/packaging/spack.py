# Spack recipe of rankweave. scripts/package fills in the version and the digest.
#
#     spack repo add target/package/spack/spack_repo/rankweave
#     cd target/package && spack install rankweave

import os

from spack.package import *
from spack_repo.builtin.build_systems.generic import Package


class Rankweave(Package):
    """Records the traffic between the ranks of unmodified MPI programs, and places ranks that exchange much data close
    together. It works with every MPI library, and needs none itself."""

    # The archive is in the current directory, or in a mirror: `spack mirror create -d MIRROR rankweave`.
    url = f"file://{os.getcwd()}/rankweave-@VERSION@-@MACHINE@-linux.tar.gz"
    manual_download = True

    license("MIT OR Apache-2.0")

    version("@VERSION@", sha256="@SHA256@")

    conflicts("platform=darwin", msg="rankweave is for Linux")
    requires("target=@MACHINE@:", msg="the archive has programs for @MACHINE@")

    def install(self, spec, prefix):
        """Copies the files; PATH, MANPATH and CPATH follow from their places."""
        Executable("./install.sh")("--prefix", prefix)

    @run_after("install")
    @on_package_attributes(run_tests=True)
    def check_install(self):
        Executable(self.prefix.bin.rankweave)("--version")
