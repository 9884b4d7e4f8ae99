"""Runs a recipe of Spack without Spack: as much of Spack's package interface as the recipe of rankweave uses.

Spack is in none of the package registries from which the tests install (PyPI's name `spack` is not taken, Debian has no
package), and its repository of recipes is fetched from its own server. So the recipe is executed with modules that have the
names of Spack's. Directives are noted; a directive or a class that Spack has and this file lacks fails, so that a recipe with
something new asks for a look. The archive is fetched from the recipe's own address, its digest is compared, `install` is
called with a specification and a prefix, and then what is to run after it.

Limits: nothing is concretised, and no dependency is installed.
"""

import hashlib
import os
import subprocess
import sys
import tarfile
import tempfile
import types
from urllib.parse import urlparse


class Refused(Exception):
    """What Spack would refuse."""


class Prefix(str):
    """A path, with the folders and files below it as attributes."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Prefix(os.path.join(self, name))


class Executable:
    """A program that is called with its arguments."""

    def __init__(self, path):
        self.path = str(path)

    def __call__(self, *arguments):
        done = subprocess.run([self.path, *arguments], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Refused(f"{self.path}: exit code {done.returncode}: {done.stderr}")
        OUTPUT.append(done.stdout)


class Package:
    """The class that a generic recipe extends."""

    def __init__(self, prefix):
        self.prefix = Prefix(prefix)


NOTED = []
OUTPUT = []


def directive(name):
    """A directive: noted with its arguments."""
    return lambda *values, **named: NOTED.append((name, values, named))


def run_after(phase):
    """Marks a method that runs after a phase."""
    def mark(function):
        function.runs_after = phase
        return function
    return mark


def on_package_attributes(**_wanted):
    """The attributes that this recipe asks for (`run_tests`) hold here."""
    return lambda function: function


def modules():
    """The modules that the recipe imports."""
    package = types.ModuleType("spack.package")
    for name in ("license", "version", "conflicts", "requires", "maintainers", "depends_on", "variant"):
        setattr(package, name, directive(name))
    package.Executable, package.run_after, package.on_package_attributes = Executable, run_after, on_package_attributes
    generic = types.ModuleType("spack_repo.builtin.build_systems.generic")
    generic.Package = Package
    parents = ["spack", "spack_repo", "spack_repo.builtin", "spack_repo.builtin.build_systems"]
    return {**{name: types.ModuleType(name) for name in parents},
            "spack.package": package, "spack_repo.builtin.build_systems.generic": generic}


def load(path):
    """The class of the recipe: in a file package.py, the name of its folder with a capital letter."""
    name = os.path.basename(os.path.dirname(path)).capitalize()
    with open(path, encoding="utf-8") as file:
        text = file.read()
    NOTED.clear()
    sys.modules.update(modules())
    try:
        space = {"__name__": f"spack_repo.rankweave.packages.{name.lower()}.package"}
        exec(compile(text, path, "exec"), space)  # pylint: disable=exec-used
    except (NameError, AttributeError, ImportError, TypeError) as error:
        raise Refused(f"{path}: {error}") from error
    finally:
        for module in modules():
            sys.modules.pop(module, None)
    if name not in space or not issubclass(space[name], Package):
        raise Refused(f"{path} has no package {name}")
    return space[name]


def install(path, folder, prefix):
    """Installs what the recipe in `path` describes below `prefix`, called in `folder`. Returns what its programs print."""
    here = os.getcwd()
    os.chdir(folder)
    try:
        recipe = load(path)
        versions = [(values[0], named) for name, values, named in NOTED if name == "version"]
        if len(versions) != 1 or not any(name == "license" for name, _, _ in NOTED):
            raise Refused(f"{path}: one version and a licence are expected: {NOTED}")
        archive = urlparse(recipe.url)
        with open(archive.path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        if archive.scheme != "file" or digest != versions[0][1].get("sha256") or versions[0][0] not in archive.path:
            raise Refused(f"{recipe.url} has the digest {digest}, and the recipe says {versions[0]}")
        with tempfile.TemporaryDirectory() as stage:
            with tarfile.open(archive.path) as file:
                file.extractall(stage)  # the archive that scripts/package just made
            os.chdir(os.path.join(stage, os.listdir(stage)[0]))
            OUTPUT.clear()
            package = recipe(prefix)
            package.install(None, package.prefix)
            for name in dir(recipe):
                if getattr(getattr(recipe, name), "runs_after", None) == "install":
                    getattr(package, name)()
            os.chdir(folder)
    finally:
        os.chdir(here)
    return OUTPUT[-1] if OUTPUT else ""
