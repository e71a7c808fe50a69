"""xacro that is wrong, or wants what no description may have: the class, the place, the words; nothing runs, nothing grows."""

import os
import re
import time
from pathlib import Path

import pytest

import qddot
from qddot.errors import (
    InputError,
    ModelError,
    ModelLimitError,
    ModelReferenceError,
    ModelSecurityError,
    ModelStructureError,
    ModelSyntaxError,
    ModelValueError,
    UnknownNameError,
)
from qddot.formats.source import from_file
from qddot.formats.xacro import expand
from qddot.formats.xacro_expression import Refused, evaluate
from qddot.formats.xacro_scope import Scope
from tests.reference import BAD

HEAD = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">\n'


def load(tmp_path: Path, text: str, **how):
    (tmp_path / "robot.xacro").write_text(f"{HEAD}{text}</robot>")
    return qddot.load(tmp_path / "robot.xacro", **how)


@pytest.mark.parametrize("name", ["a01_xacro_import", "a02_xacro_subclass", "a04_xacro_include"])
@pytest.mark.parametrize("strict", [False, True])
def test_reference_case(name, strict, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelSecurityError, match=f"{name}.xacro:1:"):
        qddot.load(BAD / f"{name}.xacro", strict=strict)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("text", "error", "line", "message"),
    [
        ('<link name="${lenght}"/>', ModelReferenceError, 2, "link '${lenght}' name='${lenght}': the name 'lenght' is not defined"),
        ('<xacro:property name="length" value="1"/>\n<x a="${lenght}"/>', ModelReferenceError, 3, "did you mean 'length'?"),
        ('<x a="${1 +}"/>', ModelValueError, 2, "'1 +' is not an expression"),
        ('<x a="${1/0}"/>', ModelValueError, 2, "it divides by zero"),
        ('<x a="${1"/>', ModelValueError, 2, "is not closed"),
        ('<x a="${sqrt(-1)}"/>', ModelValueError, 2, "x a='${sqrt(-1)}': "),
        ("<x a=\"${'a' + 1}\"/>", ModelValueError, 2, "can only concatenate str"),
        ('<x a="${foo(1)}"/>', ModelReferenceError, 2, "there is no function 'foo'"),
        (
            '<x a="$(arg side)"/>',
            ModelReferenceError,
            2,
            "the argument 'side' has no value and no default (give it: arguments={'side'",
        ),
        ('<x a="$(env HOME)"/>', ModelSecurityError, 2, "the environment is not read, so 'HOME' has no value (give it: arguments="),
        ('<x a="$(find nowhere)"/>', ModelReferenceError, 2, "the package 'nowhere' is not found"),
        ('<x a="$(anon x)"/>', ModelValueError, 2, "unknown substitution 'anon x' (known: arg, find"),
        ("<xacro:wheel/>", ModelReferenceError, 2, "there is no macro 'wheel'"),
        ('<xacro:macro name="m" params="a b"/><xacro:m a="1"/>', ModelReferenceError, 2, "needs a value for 'b' (add b="),
        (
            '<xacro:macro name="m" params="mass"/><xacro:m mas="1"/>',
            ModelReferenceError,
            2,
            "no parameter 'mas' (did you mean 'mass'?)",
        ),
        ('<xacro:macro name="m" params="*a"/><xacro:m/>', ModelStructureError, 2, "needs a block for '*a'"),
        ('<xacro:macro name="m" params=""/><xacro:m><a/></xacro:m>', ModelStructureError, 2, "takes no block for <a>"),
        ('<xacro:insert_block name="b"/>', ModelReferenceError, 2, "there is no block 'b'"),
        ('<xacro:if value="maybe"/>', ModelValueError, 2, "'maybe' is neither true nor false"),
        ("<xacro:if/>", ModelValueError, 2, "the attribute 'value' is missing"),
        ('<xacro:property name="1a" value="2"/>', ModelValueError, 2, "made of letters, digits and _"),
        ('<xacro:property name="a" value="${a}"/><x a="${a}"/>', ModelValueError, 2, "the property is defined by itself: a -> a"),
        ('<xacro:include filename="no.xacro"/>', ModelReferenceError, 2, "the file 'no.xacro' does not exist"),
        ('<xacro:include filename="../../etc/passwd"/>', ModelSecurityError, 2, "lies outside the folders of this description"),
        ('<xacro:include filename="/etc/passwd"/>', ModelSecurityError, 2, "lies outside the folders"),
        ("<x a=\"${xacro.load_yaml('/etc/passwd')}\"/>", ModelSecurityError, 2, "lies outside the folders"),
        ("<x>${xacro.fatal('no such', 'type')}</x>", ModelValueError, 2, "no such type"),
        (
            '<link name="a">\n<inertial>\n<mass value="${-1}"/><inertia/></inertial></link>',
            ModelValueError,
            4,
            "mass value='-1': a mass is not negative",
        ),
    ],
)
def test_errors_have_their_place(tmp_path, text, error, line, message):
    with pytest.raises(error, match=re.escape(message)) as info:
        load(tmp_path, text)
    assert (info.value.file, info.value.line) == (str(tmp_path / "robot.xacro"), line)


def test_places_inside_macros_and_included_files(tmp_path):
    (tmp_path / "parts.xacro").write_text(
        f'{HEAD}<xacro:macro name="rod" params="m">\n<link name="a"><inertial><mass value="${{m}}"/>\n'
        '<inertia ixx="${oops}"/></inertial></link></xacro:macro></robot>'
    )
    with pytest.raises(ModelReferenceError) as info:
        load(tmp_path, '<xacro:include filename="parts.xacro"/>\n\n<xacro:rod m="1"/>')
    assert (info.value.file, info.value.line) == (str(tmp_path / "parts.xacro"), 4)
    assert f"reached by <xacro:rod> at {tmp_path / 'robot.xacro'}:4:1" in str(info.value)


def test_the_urdf_reader_points_at_the_original_file(tmp_path):
    (tmp_path / "parts.xacro").write_text(
        f'{HEAD}<xacro:macro name="rod" params="m">\n<link name="a"><inertial>\n<mass value="${{m}}"/>'
        '<inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/></inertial></link></xacro:macro></robot>'
    )
    with pytest.raises(ModelValueError, match=r"parts.xacro:4:1: link 'a' > inertial > mass value='-1': a mass is not negative"):
        load(tmp_path, '<xacro:include filename="parts.xacro"/><xacro:rod m="-1"/>')


def test_arguments(tmp_path):
    text = '<xacro:arg name="prefix" default="a"/><link name="$(arg prefix)"/>'
    with pytest.raises(UnknownNameError, match="no xacro argument 'prefx': did you mean 'prefix'"):
        load(tmp_path, text, arguments={"prefx": "b"})
    with pytest.raises(InputError, match="is not a name and a text, number or truth value"):
        load(tmp_path, text, arguments={"prefix": ["b"]})
    with pytest.raises(InputError, match=r"arguments are for xacro files, and .*two_link.toml is none"):
        qddot.load("two_link", arguments={"prefix": "b"})


def test_not_xml(tmp_path):
    (tmp_path / "a.xacro").write_text("<robot")
    with pytest.raises(ModelSyntaxError, match=r"a.xacro:1:1: not well-formed"):
        qddot.load(tmp_path / "a.xacro")
    (tmp_path / "a.xacro").write_text('<!DOCTYPE r [<!ENTITY a SYSTEM "/etc/passwd">]><robot/>')
    with pytest.raises(ModelSecurityError):
        qddot.load(tmp_path / "a.xacro")


def test_another_prefix(tmp_path):
    (tmp_path / "a.xacro").write_text('<robot name="r" xmlns:x="http://www.ros.org/wiki/xacro"><x:if value="1"/></robot>')
    with pytest.raises(ModelValueError, match="the namespace of xacro needs the prefix 'xacro'"):
        qddot.load(tmp_path / "a.xacro")


def test_a_urdf_with_xacro_in_it_is_told_so(tmp_path):
    (tmp_path / "a.urdf").write_text(f'{HEAD}<xacro:include filename="b"/></robot>')
    with pytest.raises(ModelSecurityError, match=r"give the file the suffix .xacro"):
        qddot.load(tmp_path / "a.urdf")


# files ----------------------------------------------------------------------------------------------------------------


def test_links_out_of_the_folder_are_refused(tmp_path):
    (tmp_path / "secret.yaml").write_text("a: 1")
    (tmp_path / "robot").mkdir()
    (tmp_path / "robot" / "link.yaml").symlink_to(tmp_path / "secret.yaml")
    with pytest.raises(ModelSecurityError, match="lies outside"):
        load(tmp_path / "robot", "<x a=\"${xacro.load_yaml('link.yaml')}\"/>")
    with pytest.raises(ModelSecurityError, match="lies outside"):
        load(tmp_path / "robot", '<xacro:include filename="$(dirname)/../secret.yaml"/>')


@pytest.mark.parametrize("package", ["etc", "..", ".", "a/b", "tmp"])
def test_a_folder_is_no_package_by_its_name_alone(tmp_path, package):
    folder = tmp_path / "a" / "b" / "c" / "d" / "e"
    folder.mkdir(parents=True)
    with pytest.raises(ModelReferenceError, match="is not found"):
        load(folder, f'<x a="$(find {package})"/>')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: !!python/object/apply:os.system ['touch x']", "YAML tags are not read"),
        ("a: [1", "not YAML"),
        ("a: &a [*a]", "holds itself"),
        ("a: !degrees __import__('os')", "there is no function"),
    ],
)
def test_bad_yaml(tmp_path, text, message):
    (tmp_path / "a.yaml").write_text(text)
    with pytest.raises(ModelError, match=message):
        load(tmp_path, "<x a=\"${xacro.load_yaml('a.yaml')}\"/>")


# limits ---------------------------------------------------------------------------------------------------------------

LAUGHS = "".join(f'<xacro:macro name="m{i}" params=""><xacro:m{i - 1}/><xacro:m{i - 1}/></xacro:macro>' for i in range(1, 40))
TEXTS = "".join(f'<xacro:property name="p{i}" value="${{p{i - 1}}}${{p{i - 1}}}"/>' for i in range(1, 40))
LISTS = "".join(f'<xacro:property name="p{i}" value="${{[p{i - 1}, p{i - 1}]}}"/>' for i in range(1, 40))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f'<xacro:macro name="m0" params=""><a/></xacro:macro>{LAUGHS}<xacro:m39/>', "the expansion is over the limit of"),
        ('<xacro:macro name="m" params=""><xacro:m/></xacro:macro><xacro:m/>', "nested"),
        ('<xacro:include filename="robot.xacro"/>', "nested"),
        ('<xacro:property name="b"><xacro:insert_block name="b"/></xacro:property><xacro:insert_block name="b"/>', "nested"),
        (f'<xacro:property name="p0" value="abcdefgh"/>{TEXTS}<x a="${{p39}}"/>', "a text of length"),
        (f'<xacro:property name="p0" value="${{[1]}}"/>{LISTS}<x a="${{str(p39)}}"/>', "a list of more than"),
        ("<x a=\"${'a' * 10**9}\"/>", "is over the limit of 65536"),
        ('<x a="${[0] * 10**9}"/>', "is over the limit of 65536"),
        ('<x a="${range(10**9)}"/>', "a list of length 1000000000"),
    ],
    ids=["macros", "recursion", "include", "block", "texts", "lists", "repeated text", "repeated list", "range"],
)
def test_what_grows_without_end_is_stopped(tmp_path, text, message):
    start = time.perf_counter()
    with pytest.raises(ModelLimitError, match=message):
        load(tmp_path, text)
    assert time.perf_counter() - start < 20


# expressions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("__import__('os')", ModelSecurityError),
        ("''.__class__", ModelSecurityError),
        ("().__class__.__bases__[0].__subclasses__()", ModelSecurityError),
        ("[x for x in range(3)]", ModelSecurityError),
        ("(lambda: 1)()", ModelReferenceError),
        ("f'{1}'", ModelSecurityError),
        ("(y := 1)", ModelSecurityError),
        ("'{0.__class__}'.format(1)", ModelSecurityError),
        ("open('/etc/passwd')", ModelReferenceError),
        ("eval('1')", ModelReferenceError),
        ("str.mro()", ModelReferenceError),
        ("sin.__self__", ModelSecurityError),
        ("getattr(1, 'real')", ModelReferenceError),
        ("(1).real", ModelValueError),
        ("9**9**9", ModelValueError),
        ("2**0.5**-9999", ModelValueError),
        ("1e308 * 10 ** 400", ModelValueError),
        ("factorial(10**6)", ModelValueError),
        ("'%1000000000d' % 1", ModelValueError),
        ("'x'.join(['y'] * 60000) * 2", ModelLimitError),
        ("-" * 4000 + "1", ModelLimitError),
        ("(" * 1000 + "1" + ")" * 1000, ModelValueError),
        ("1" * 5000, ModelLimitError),
        ("b'x'", ModelValueError),
        ("1j", ModelValueError),
        ("(-8) ** 0.5", ModelValueError),
        ("1 << 5", ModelValueError),
        ("", ModelValueError),
        ("[1, 2][5]", ModelReferenceError),
        ("dict(a=1).b", ModelReferenceError),
        ("dict(a=1)['b']", ModelReferenceError),
        ("min()", ModelValueError),
        ("int('x')", ModelValueError),
    ],
)
def test_expressions_that_are_refused(text, kind):
    with pytest.raises(Refused) as info:
        evaluate(text, Scope(lambda *_: None))
    assert info.value.kind is kind, info.value.rule


def test_any_text_is_evaluated_or_refused(tmp_path):
    import random

    rng = random.Random(1)
    words = [
        "1",
        "2.5",
        "'a'",
        "x",
        "pi",
        "(",
        ")",
        "[",
        "]",
        "+",
        "-",
        "*",
        "/",
        "**",
        ".",
        ",",
        " if ",
        " else ",
        " in ",
        "not ",
        "sin",
    ]
    names = Scope(lambda *_: None, properties={"x": {"a": [1, 2]}})
    for _ in range(3000):  # nothing else is raised
        text = "".join(rng.choices(words, k=rng.randint(1, 9)))
        try:
            evaluate(text, names)
        except Refused:
            continue


def test_nothing_is_changed_by_expanding_twice(tmp_path):
    path = tmp_path / "robot.xacro"
    path.write_text(f'{HEAD}<xacro:property name="a" value="1"/><x a="${{a}}"/></robot>')
    first, second = (expand(from_file(path))[0] for _ in range(2))
    assert first.children[0].attributes == second.children[0].attributes == {"a": "1"}
