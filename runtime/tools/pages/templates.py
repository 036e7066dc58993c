"""Templates of pages; imported by name where a page is written, as Jinja2 takes long to import."""

from __future__ import annotations

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from runelift.runtime.tools.pages.markup import read


def render(template: str, package: str, values: dict[str, object]) -> str:
    """The text of a template of a package, which may extend the templates of this folder.

    Text that is no markup is escaped.  ``read("page.css")`` is a file beside the templates.
    """
    packages = dict.fromkeys((package, __package__))
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(each, "") for each in packages]), autoescape=True,
        undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True)
    environment.globals["read"] = read
    return environment.get_template(template).render(values)
